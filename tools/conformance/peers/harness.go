// x509-limbo's harness protocol for Go's crypto/x509, as far as mutate.py needs it.
package main

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

type testcase struct {
	ID            string    `json:"id"`
	Anchors       []string  `json:"trusted_certs"`
	Intermediates []string  `json:"untrusted_intermediates"`
	Leaf          string    `json:"peer_certificate"`
	Time          time.Time `json:"validation_time"`
	Name          struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	} `json:"expected_peer_name"`
}

type result struct {
	ID      string `json:"id"`
	Actual  string `json:"actual_result"`
	Context string `json:"context,omitempty"`
}

func certificate(text string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// A certificate that cannot be read is no part of a path.
func pool(texts []string, unread *error) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, text := range texts {
		parsed, err := certificate(text)
		if err != nil {
			*unread = err
			continue
		}
		pool.AddCert(parsed)
	}
	return pool
}

func evaluate(c testcase) (err error) {
	defer func() {
		if trap := recover(); trap != nil {
			err = fmt.Errorf("panic: %v", trap)
		}
	}()
	leaf, err := certificate(c.Leaf)
	if err != nil {
		return err
	}
	name := c.Name.Value
	if c.Name.Kind == "IP" {
		name = "[" + name + "]"
	}
	var unread error
	_, err = leaf.Verify(x509.VerifyOptions{
		DNSName: name, Roots: pool(c.Anchors, &unread), Intermediates: pool(c.Intermediates, &unread),
		CurrentTime: c.Time,
	})
	if err != nil && unread != nil {
		return fmt.Errorf("%w; not read: %w", err, unread)
	}
	return err
}

func main() {
	var suite struct {
		Testcases []testcase `json:"testcases"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&suite); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	results := []result{}
	for _, c := range suite.Testcases {
		r := result{ID: c.ID, Actual: "SUCCESS"}
		if err := evaluate(c); err != nil {
			r.Actual, r.Context = "FAILURE", err.Error()
		}
		results = append(results, r)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"version": 1, "harness": runtime.Version(), "results": results})
}
