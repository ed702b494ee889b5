// verify CHAIN ANCHORS HOST COUNT: verifies a chain from DER with crypto/x509, so many times in each of nine rounds,
// and prints the median CPU time of one, in nanoseconds. The anchors are read once.
package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"sort"
	"strconv"
	"syscall"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func cpuTime() int64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func verify(chain [][]byte, roots *x509.CertPool, host string) {
	leaf, err := x509.ParseCertificate(chain[0])
	check(err)
	intermediates := x509.NewCertPool()
	for _, der := range chain[1:] {
		intermediate, err := x509.ParseCertificate(der)
		check(err)
		intermediates.AddCert(intermediate)
	}
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: intermediates})
	check(err)
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var chain [][]byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		chain = append(chain, block.Bytes)
	}
	anchors, err := os.ReadFile(os.Args[2])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(anchors)
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	verify(chain, roots, os.Args[3])
	var times []int64
	for range 9 {
		start := cpuTime()
		for range count {
			verify(chain, roots, os.Args[3])
		}
		times = append(times, (cpuTime()-start)/int64(count))
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	fmt.Println(times[len(times)/2])
}
