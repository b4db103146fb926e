// The Go peer of the benchmarks: `peer NAME --option value ...` runs one and prints one JSON line.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

type params map[string]int

type metrics map[string]any

var benches = map[string]func(params) metrics{
	"ring": ring, "chameneos": chameneos, "fibonacci": fibonacci, "spawn": spawn,
}

func main() {
	if len(os.Args) < 2 || benches[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peer ring|chameneos|fibonacci|spawn --option value ...")
		os.Exit(2)
	}
	options := parse(os.Args[2:])
	line, err := json.Marshal(map[string]any{
		"bench":   os.Args[1],
		"version": "Go " + strings.TrimPrefix(runtime.Version(), "go"),
		"machine": map[string]any{"os": runtime.GOOS, "arch": runtime.GOARCH, "cores": runtime.NumCPU()},
		"params":  options,
		"metrics": benches[os.Args[1]](options),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(line))
}

func parse(args []string) params {
	options := params{}
	for i := 0; i+1 < len(args); i += 2 {
		value, err := strconv.Atoi(args[i+1])
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s wants a number, not %q\n", args[i], args[i+1])
			os.Exit(2)
		}
		options[strings.ReplaceAll(strings.TrimPrefix(args[i], "--"), "-", "_")] = value
	}
	return options
}

// percentile is nearest-rank; nil (JSON null) where there is no sample at all.
func percentile(p float64, samples []float64) any {
	if len(samples) == 0 {
		return nil
	}
	sort.Float64s(samples)
	return samples[max(0, int(math.Ceil(p/100*float64(len(samples))))-1)]
}

func deviation(counts []int) float64 {
	mean, squares := 0.0, 0.0
	for _, k := range counts {
		mean += float64(k) / float64(len(counts))
	}
	for _, k := range counts {
		squares += (float64(k) - mean) * (float64(k) - mean)
	}
	return math.Sqrt(squares / float64(len(counts)))
}
