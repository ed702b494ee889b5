// Fetches a page from a server that the verdict service accepts: fetch SOCKET HOST PORT CA-FILE
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func main() {
	path, host, ca := os.Args[1], os.Args[2], os.Args[4]
	port, _ := strconv.ParseUint(os.Args[3], 10, 16)
	pem, _ := os.ReadFile(ca)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
		VerifyConnection: func(state tls.ConnectionState) error { return judge(path, host, uint16(port), state) }}}}
	response, err := client.Get(fmt.Sprintf("https://%s:%d/", host, port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	io.Copy(os.Stdout, response.Body)
}
