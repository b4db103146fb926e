// Load of A2A's SendMessage: CONNECTIONS keep one request outstanding each for SECONDS. Prints one line of JSON.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER",` +
	`"parts":[{"text":"price of tea"}]}}}`

// Reads one answer, and returns its body.
func answer(reader *bufio.Reader) ([]byte, error) {
	text := textproto.NewReader(reader)
	status, err := text.ReadLine()
	if err != nil {
		return nil, err
	}
	head, err := text.ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	length, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil || !strings.Contains(status, " 200") {
		return nil, fmt.Errorf("%s", status)
	}
	content := make([]byte, length)
	_, err = io.ReadFull(reader, content)
	return content, err
}

func client(address string, request []byte, until time.Time) (latencies []time.Duration, err error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	reader := bufio.NewReaderSize(socket, 16<<10)
	for time.Now().Before(until) {
		begin := time.Now()
		if _, err = socket.Write(request); err != nil {
			return latencies, err
		}
		content, err := answer(reader)
		if err != nil {
			return latencies, err
		}
		if !bytes.Contains(content, []byte("COMPLETED")) {
			return latencies, fmt.Errorf("not completed: %s", content)
		}
		latencies = append(latencies, time.Since(begin))
	}
	return latencies, nil
}

func main() {
	target, err := url.Parse(os.Args[1])
	connections, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.Atoi(os.Args[3])
	if err != nil || connections < 1 || seconds < 1 {
		fmt.Fprintln(os.Stderr, "usage: load URL CONNECTIONS SECONDS")
		os.Exit(2)
	}
	request := []byte(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n"+
		"Content-Length: %d\r\n\r\n%s", target.RequestURI(), target.Host, len(body), body))
	var all []time.Duration
	var lock sync.Mutex
	var done sync.WaitGroup
	begin := time.Now()
	until := begin.Add(time.Duration(seconds) * time.Second)
	for range connections {
		done.Go(func() {
			latencies, err := client(target.Host, request, until)
			lock.Lock()
			defer lock.Unlock()
			all = append(all, latencies...)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		})
	}
	done.Wait()
	took := time.Since(begin).Seconds()
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	at := func(share float64) int64 { return all[int(share*float64(len(all)-1))].Microseconds() }
	fmt.Printf("{\"per_s\": %.0f, \"p50_us\": %d, \"p99_us\": %d, \"count\": %d}\n",
		float64(len(all))/took, at(0.5), at(0.99), len(all))
}
