// Pins as Go's crypto/x509 finds them: for each line of standard input, the hexadecimal digits of a DER certificate, a
// line with the base64 of the SHA-256 of its SubjectPublicKeyInfo, or "-" for what Go does not parse.
package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		der, _ := hex.DecodeString(lines.Text())
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			fmt.Println("-")
			continue
		}
		digest := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		fmt.Println(base64.StdEncoding.EncodeToString(digest[:]))
	}
}
