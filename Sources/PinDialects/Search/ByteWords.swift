extension [UInt8] {
    /// Returns whether the bytes contain one of some words, in one pass. The words are in ASCII, and without `ignoringCase`
    /// as they are written. Otherwise they are in small letters.
    func hasAny(of words: [String], ignoringCase: Bool = false) -> Bool {
        let words = words.map { Array($0.utf8) }.filter { !$0.isEmpty }
        let fold: UInt8 = ignoringCase ? 0x20 : 0
        let firsts = Set(words.map { $0[0] })
        let starts = (0...255).map { firsts.contains(UInt8($0) | fold) }
        let (bytes, table) = (span, starts.span)
        for index in 0..<bytes.count where table[Int(bytes[index])] {
            for word in words where index + word.count <= bytes.count {
                var length = 1
                while length < word.count, bytes[index + length] | fold == word[length] { length += 1 }
                if length == word.count { return true }
            }
        }
        return false
    }
}
