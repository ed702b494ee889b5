// Apple's variants with a task, whose current URL and main document count.
extension HTTPCookieStorage {
    /// Does the same as ``setCookies(_:for:mainDocumentURL:)`` for the task's URL.
    public func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        let request = task.currentRequest
        setCookies(cookies, for: request?.url, mainDocumentURL: request?.mainDocumentURL)
    }

    /// Calls the handler with the cookies that the task's current request carries before it returns.
    public func getCookiesFor(_ task: URLSessionTask, completionHandler: ([HTTPCookie]?) -> Void) {
        completionHandler(request(of: task).map(currentCookies))
    }

    /// Returns the cookies that the task's current request carries.
    public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
        guard let request = request(of: task) else { return nil }
        return await cookiesToSend(with: request)
    }

    private func request(of task: URLSessionTask) -> CookieRequest? {
        guard let request = task.currentRequest, let url = request.url else { return nil }
        return CookieRequest(url, mainDocument: request.mainDocumentURL)
    }
}
