// A client of the verdict service: set judge as VerifyConnection, which crypto/tls calls in every handshake, also in
// resumed ones. fetch.go does so.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

var errInvalid = errors.New("the verdict service sent an invalid answer")

func field(frame []byte, kind byte, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32(append(frame, kind), uint32(len(value))), value...)
}

// judge asks the service at a path about a connection, and returns an error unless it accepts.
func judge(path, host string, port uint16, state tls.ConnectionState) error {
	frame := field([]byte{0, 0, 0, 0, 1, 1}, 1, []byte(host))
	frame = field(frame, 2, binary.BigEndian.AppendUint16(nil, port))
	for _, certificate := range state.PeerCertificates {
		frame = field(frame, 4, certificate.Raw)
	}
	if len(state.SignedCertificateTimestamps) > 0 {
		list := []byte{0, 0}
		for _, timestamp := range state.SignedCertificateTimestamps {
			list = append(binary.BigEndian.AppendUint16(list, uint16(len(timestamp))), timestamp...)
		}
		binary.BigEndian.PutUint16(list, uint16(len(list)-2))
		frame = field(frame, 6, list)
	}
	frame = field(frame, 8, []byte(os.Args[0]))
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	service, err := net.DialTimeout("unix", path, 10*time.Second)
	if err != nil {
		return err
	}
	defer service.Close()
	service.SetDeadline(time.Now().Add(10 * time.Second))
	service.Write(frame) // After a failure, there is nothing to read.
	answer := make([]byte, 4096)
	if _, err := io.ReadFull(service, answer[:4]); err != nil {
		return fmt.Errorf("no answer from the verdict service: %w", err)
	}
	size := binary.BigEndian.Uint32(answer)
	if size < 2 || size > 4096 {
		return errInvalid
	} else if _, err := io.ReadFull(service, answer[:size]); err != nil {
		return fmt.Errorf("no answer from the verdict service: %w", err)
	}
	return check(answer[:size])
}

// check returns an error unless an answer, without its length, accepts and is exactly as specified.
func check(answer []byte) error {
	var seen [4][]byte
	if !bytes.HasPrefix(answer, []byte{1, 1}) {
		return errInvalid
	}
	for rest := answer[2:]; len(rest) > 0; {
		if len(rest) < 5 || rest[0] < 1 || rest[0] > 3 || seen[rest[0]] != nil ||
			uint64(binary.BigEndian.Uint32(rest[1:])) > uint64(len(rest)-5) {
			return errInvalid
		}
		size := binary.BigEndian.Uint32(rest[1:])
		seen[rest[0]], rest = rest[5:5+size], rest[5+size:]
	}
	if !bytes.Equal(seen[1], []byte{1}) {
		return fmt.Errorf("refused: %q", seen[2])
	}
	return nil
}
