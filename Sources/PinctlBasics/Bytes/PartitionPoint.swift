extension RandomAccessCollection where Index == Int {
    /// Returns the index of the first element that isn't before a position, in a collection whose elements before it come
    /// first. It is the end index if all are.
    package func firstIndex(notBefore isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
