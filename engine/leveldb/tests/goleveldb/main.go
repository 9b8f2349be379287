// A program around goleveldb for ../goleveldb.rs, which writes the commands and reads the answers.
// Keys and values are in hexadecimal digits after an `x`.
//
//	goleveldb write DIR ORDER BLOCK_BYTES CODEC BLOOM_BITS BUFFER_BYTES TABLE_BYTES
//
// reads one command a line: `p KEY VALUE` and `d KEY` add to the batch, `w` writes it, `compact`
// compacts everything, `reopen` closes and opens the database, and `die` ends without closing it.
//
//	goleveldb dump DIR ORDER
//
// prints every entry forwards, a line `--`, and every entry backwards.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type reverse struct{}

func (reverse) Name() string                      { return "example.reverse" }
func (reverse) Compare(a, b []byte) int           { return bytes.Compare(b, a) }
func (reverse) Separator(dst, a, b []byte) []byte { return nil }
func (reverse) Successor(dst, b []byte) []byte    { return nil }

func options(order string) *opt.Options {
	o := &opt.Options{Strict: opt.StrictAll}
	if order == "reverse" {
		o.Comparer = reverse{}
	}
	return o
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func decode(text string) []byte {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "x"))
	check(err)
	return raw
}

func write(dir string, args []string) {
	o := options(args[0])
	o.BlockSize = number(args[1])
	o.Compression = opt.NoCompression
	if args[2] == "snappy" {
		o.Compression = opt.SnappyCompression
	}
	if bits := number(args[3]); bits > 0 {
		o.Filter = filter.NewBloomFilter(bits)
	}
	o.WriteBuffer = number(args[4])
	o.CompactionTableSize = number(args[5])
	db, err := leveldb.OpenFile(dir, o)
	check(err)
	batch := new(leveldb.Batch)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "p":
			batch.Put(decode(words[1]), decode(words[2]))
		case "d":
			batch.Delete(decode(words[1]))
		case "w":
			check(db.Write(batch, nil))
			batch.Reset()
		case "compact":
			check(db.CompactRange(util.Range{}))
		case "reopen":
			check(db.Close())
			db, err = leveldb.OpenFile(dir, o)
			check(err)
		case "die":
			os.Exit(0)
		}
	}
	check(lines.Err())
	check(db.Close())
}

func dump(dir string, order string) {
	o := options(order)
	o.ErrorIfMissing = true
	db, err := leveldb.OpenFile(dir, o)
	check(err)
	out := bufio.NewWriter(os.Stdout)
	it := db.NewIterator(nil, nil)
	show := func() { fmt.Fprintf(out, "x%x x%x\n", it.Key(), it.Value()) }
	for it.Next() {
		show()
	}
	fmt.Fprintln(out, "--")
	for ok := it.Last(); ok; ok = it.Prev() {
		show()
	}
	check(it.Error())
	it.Release()
	check(out.Flush())
	check(db.Close())
}

func main() {
	switch os.Args[1] {
	case "write":
		write(os.Args[2], os.Args[3:])
	case "dump":
		dump(os.Args[2], os.Args[3])
	}
}
