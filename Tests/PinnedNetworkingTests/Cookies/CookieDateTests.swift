import PinctlBasics
import Testing

@testable import PinnedNetworking

// github.com/abarth/http-state, tests/data/dates: examples.json and bsd-examples.json.
private let httpStateDates: [(String, String?)] = [
    ("Mon, 10-Dec-2007 17:02:24 GMT", "2007-12-10T17:02:24Z"),
    ("Wed, 09 Dec 2009 16:27:23 GMT", "2009-12-09T16:27:23Z"),
    ("Thursday, 01-Jan-1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
    ("Mon Dec 10 16:32:30 2007 GMT", "2007-12-10T16:32:30Z"),
    ("Wednesday, 01-Jan-10 00:00:00 GMT", "2010-01-01T00:00:00Z"),
    ("Mon, 10-Dec-07 20:35:03 GMT", "2007-12-10T20:35:03Z"),
    ("Wed, 1 Jan 2020 00:00:00 GMT", "2020-01-01T00:00:00Z"),
    ("Saturday, 8-Dec-2012 21:24:09 GMT", "2012-12-08T21:24:09Z"),
    ("Thu, 31 Dec 23:55:55 2037 GMT", "2037-12-31T23:55:55Z"),
    ("Sun,  9 Dec 2012 13:42:05 GMT", "2012-12-09T13:42:05Z"),
    ("Wed Dec 12 2007 08:44:07 GMT-0500 (EST)", "2007-12-12T08:44:07Z"),
    ("Mon, 01-Jan-2011 00: 00:00 GMT", nil),
    ("Sun, 1-Jan-1995 00:00:00 GMT", "1995-01-01T00:00:00Z"),
    ("Wednesday, 01-Jan-10 0:0:00 GMT", "2010-01-01T00:00:00Z"),
    ("Thu, 10 Dec 2009 13:57:2 GMT", "2009-12-10T13:57:02Z"),
    ("Sat, 15-Apr-17 21:01:22 GMT", "2017-04-15T21:01:22Z"),
    ("Thu, 19-Apr-2007 16:00:00 GMT", "2007-04-19T16:00:00Z"),
    ("Wed, 25 Apr 2007 21:02:13 GMT", "2007-04-25T21:02:13Z"),
    ("Thu, 19/Apr\\2007 16:00:00 GMT", "2007-04-19T16:00:00Z"),
    ("Fri, 1 Jan 2010 01:01:50 GMT", "2010-01-01T01:01:50Z"),
    ("Wednesday, 1-Jan-2003 00:00:00 GMT", "2003-01-01T00:00:00Z"),
    (", 1-Jan-2003 00:00:00 GMT", "2003-01-01T00:00:00Z"),
    (" 1-Jan-2003 00:00:00 GMT", "2003-01-01T00:00:00Z"),
    ("1-Jan-2003 00:00:00 GMT", "2003-01-01T00:00:00Z"),
    ("Wed,18-Apr-07 22:50:12 GMT", "2007-04-18T22:50:12Z"),
    ("WillyWonka  , 18-Apr-07 22:50:12 GMT", "2007-04-18T22:50:12Z"),
    ("WillyWonka  , 18-Apr-07 22:50:12", "2007-04-18T22:50:12Z"),
    ("WillyWonka  ,  18-apr-07   22:50:12", "2007-04-18T22:50:12Z"),
    ("Mon, 18-Apr-1977 22:50:13 GMT", "1977-04-18T22:50:13Z"),
    ("Mon, 18-Apr-77 22:50:13 GMT", "1977-04-18T22:50:13Z"),
    ("\"Sat, 15-Apr-17\\\"21:01:22\\\"GMT\"", "2017-04-15T21:01:22Z"),
    ("Partyday, 18- April-07 22:50:12", "2007-04-18T22:50:12Z"),
    ("Partyday, 18 - Apri-07 22:50:12", "2007-04-18T22:50:12Z"),
    ("Wednes, 1-Januar-2003 00:00:00 GMT", "2003-01-01T00:00:00Z"),
    ("Sat, 15-Apr-17 21:01:22", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 GMT-2", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 GMT BLAH", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 GMT-0400", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 GMT-0400 (EDT)", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 DST", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 -0400", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 (hello there)", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 21:01:22 11:22:33", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 ::00 21:01:22", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 boink:z 21:01:22", "2017-04-15T21:01:22Z"),
    ("Sat, 15-Apr-17 91:22:33 21:01:22", nil),
    ("Thu Apr 18 22:50:12 2007 GMT", "2007-04-18T22:50:12Z"),
    ("22:50:12 Thu Apr 18 2007 GMT", "2007-04-18T22:50:12Z"),
    ("Thu 22:50:12 Apr 18 2007 GMT", "2007-04-18T22:50:12Z"),
    ("Thu Apr 22:50:12 18 2007 GMT", "2007-04-18T22:50:12Z"),
    ("Thu Apr 18 22:50:12 2007 GMT", "2007-04-18T22:50:12Z"),
    ("Thu Apr 18 2007 22:50:12 GMT", "2007-04-18T22:50:12Z"),
    ("Thu Apr 18 2007 GMT 22:50:12", "2007-04-18T22:50:12Z"),
    ("Sat, 15-Apr-17 21:01:22 GMT", "2017-04-15T21:01:22Z"),
    ("15-Sat, Apr-17 21:01:22 GMT", "2017-04-15T21:01:22Z"),
    ("15-Sat, Apr 21:01:22 GMT 17", "2017-04-15T21:01:22Z"),
    ("15-Sat, Apr 21:01:22 GMT 2017", "2017-04-15T21:01:22Z"),
    ("15 Apr 21:01:22 2017", "2017-04-15T21:01:22Z"),
    ("15 17 Apr 21:01:22", "2017-04-15T21:01:22Z"),
    ("Apr 15 17 21:01:22", "2017-04-15T21:01:22Z"),
    ("Apr 15 21:01:22 17", "2017-04-15T21:01:22Z"),
    ("2017 April 15 21:01:22", "2017-04-15T21:01:22Z"),
    ("15 April 2017 21:01:22", "2017-04-15T21:01:22Z"),
    ("98 April 17 21:01:22", nil),
    ("Thu, 012-Aug-2008 20:49:07 GMT", nil),
    ("Thu, 12-Aug-31841 20:49:07 GMT", nil),
    ("Thu, 12-Aug-9999999999 20:49:07 GMT", nil),
    ("Thu, 999999999999-Aug-2007 20:49:07 GMT", nil),
    ("Thu, 12-Aug-2007 20:61:99999999999 GMT", nil),
    ("IAintNoDateFool", nil),
]

// Dates of curl's tests (test 483: expires values with many delimiters), of Python's test_http_cookiejar
// (test_http2time_formats, _garbage), and the limits of the algorithm.
private let otherDates: [(String, String?)] = [
    ("Fri Feb 13 11:56:27 GMT 2132", "2132-02-13T11:56:27Z"),
    ("Fri Feb 13 11:56:27 ...................................................GMT 2132", "2132-02-13T11:56:27Z"),
    ("Fri Feb 13 11:56:27 ", nil),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
    ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
    ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
    ("03 Feb 1994 00:00:00 GMT", "1994-02-03T00:00:00Z"),
    ("THU, 03 FEB 1994 00:00:00 GMT", "1994-02-03T00:00:00Z"),
    // Without seconds, or a time, there is no date.
    ("03-Feb-1994 00:00 GMT", nil), ("03-Feb-94", nil), ("03 Feb 1994", nil), ("", nil), ("Garbage", nil),
    ("Mandag 16. September 1996", nil), ("01-01-1980 25:00:00", nil), ("01-01-1980 00:61:00", nil),
    ("01-01-1980 00:00:62", nil), ("08-Oct-3697739", nil), ("09 Feb 19942632 22:23:32 GMT", nil),
    ("Wed, 09 Feb 1994834 22:23:32 GMT", nil), ("\"Foo Bar 25 33:22:11 3022\"", nil),
    ("1 Jan 1601 00:00:00", "1601-01-01T00:00:00Z"), ("31 Dec 1600 23:59:59", nil),
    ("31 Dec 9999 23:59:59", "9999-12-31T23:59:59Z"), ("31 Dec 69 23:59:59", "2069-12-31T23:59:59Z"),
    ("1 Jan 70 0:0:0", "1970-01-01T00:00:00Z"), ("1 Jan 099 0:0:0", "1999-01-01T00:00:00Z"),
    ("29 Feb 2000 0:0:0", "2000-02-29T00:00:00Z"), ("29 Feb 1900 0:0:0", nil), ("30 Feb 2024 0:0:0", nil),
    ("31 Apr 2024 0:0:0", nil), ("0 Jan 2024 0:0:0", nil), ("32 Jan 2024 0:0:0", nil),
    ("1 Jan 2024 23:59:59", "2024-01-01T23:59:59Z"), ("1 Jan 2024 24:00:00", nil), ("1 Jan 2024 23:59:60", nil),
    ("1 Jan 2024 1:2:3x", "2024-01-01T01:02:03Z"), ("1 Jan 2024 1:2:345", nil),
    ("1x Jan 2024y 1:2:3", "2024-01-01T01:02:03Z"),
]

@Suite struct CookieDateTests {
    @Test("A date is read as RFC 6265bis says, in any order of its parts", arguments: httpStateDates + otherDates)
    func dates(text: String, expected: String?) {
        #expect(CookieDate.parse(text.utf8)?.rfc3339 == expected)
    }

    @Test("A date of a megabyte takes no longer than its bytes")
    func long() {
        // Python's pattern took cubic time for such a text.
        let spaces = String(repeating: " ", count: 1 << 20)
        #expect(CookieDate.parse("01 Jan 1970\(spaces)00:00:00 GMT!".utf8) == Date(timeIntervalSince1970: 0))
        #expect(CookieDate.parse(Array(repeating: UInt8(ascii: "1"), count: 1 << 20)) == nil)
        #expect(CookieDate.parse(Array(repeating: UInt8(ascii: ":"), count: 1 << 20)) == nil)
    }
}
