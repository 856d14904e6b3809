package main

import (
	"encoding/binary"
	"math"
	"os"
	"sync"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv/mvcc"
)

// lockJournal keeps locks in a file. unistore has them in memory alone: killed, it would lose the rows of an
// acknowledged commit that are not yet committed one by one. It does not sync, since tests do not cut the power.
type lockJournal struct {
	mvcc.DBWriter
	mutex sync.Mutex
	file  *os.File
	bytes int
	// The keys of locks that are not gone.
	live map[string]struct{}
}

// The file is emptied when it is larger, and no lock is left.
const journalBytesMax = 16 << 20

// journalBatch notes the locks of a batch.
type journalBatch struct {
	mvcc.WriteBatch
	set, gone         []byte
	keysSet, keysGone []string
}

// appendLock appends an entry; a lock that is gone has no bytes.
func appendLock(entries, key, lock []byte) []byte {
	entries = binary.LittleEndian.AppendUint32(entries, uint32(len(key)))
	entries = binary.LittleEndian.AppendUint32(entries, uint32(len(lock)))
	return append(append(entries, key...), lock...)
}

func (b *journalBatch) noteSet(key []byte, lock *mvcc.Lock) {
	b.set = appendLock(b.set, key, lock.MarshalBinary())
	b.keysSet = append(b.keysSet, string(key))
}

func (b *journalBatch) noteGone(key []byte) {
	b.gone = appendLock(b.gone, key, nil)
	b.keysGone = append(b.keysGone, string(key))
}

// Prewrite leaves out the keys of the whole commit, which the client sends with each request, and only asynchronous
// commits need.
func (b *journalBatch) Prewrite(key []byte, lock *mvcc.Lock) {
	short := *lock
	if !short.UseAsyncCommit {
		short.Secondaries, short.SecondaryNum = nil, 0
	}
	b.noteSet(key, &short)
	b.WriteBatch.Prewrite(key, &short)
}

func (b *journalBatch) PessimisticLock(key []byte, lock *mvcc.Lock) {
	b.noteSet(key, lock)
	b.WriteBatch.PessimisticLock(key, lock)
}

func (b *journalBatch) Commit(key []byte, lock *mvcc.Lock) {
	b.noteGone(key)
	b.WriteBatch.Commit(key, lock)
}

func (b *journalBatch) Rollback(key []byte, deleteLock bool) {
	if deleteLock {
		b.noteGone(key)
	}
	b.WriteBatch.Rollback(key, deleteLock)
}

func (b *journalBatch) PessimisticRollback(key []byte) {
	b.noteGone(key)
	b.WriteBatch.PessimisticRollback(key)
}

func (j *lockJournal) NewWriteBatch(startTS, commitTS uint64, ctx *kvrpcpb.Context) mvcc.WriteBatch {
	return &journalBatch{WriteBatch: j.DBWriter.NewWriteBatch(startTS, commitTS, ctx)}
}

func (j *lockJournal) append(entries []byte, set, gone []string) error {
	if len(entries) == 0 {
		return nil
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for _, key := range set {
		j.live[key] = struct{}{}
	}
	for _, key := range gone {
		delete(j.live, key)
	}
	if len(j.live) == 0 && j.bytes > journalBytesMax {
		j.bytes = 0
		return j.file.Truncate(0)
	}
	_, err := j.file.Write(entries)
	j.bytes += len(entries)
	return err
}

// Write notes locks before they are set, and that they are gone after their rows are committed. A lock in the journal
// may so belong to a committed row.
func (j *lockJournal) Write(b mvcc.WriteBatch) error {
	batch := b.(*journalBatch)
	if err := j.append(batch.set, batch.keysSet, nil); err != nil {
		return err
	}
	if err := j.DBWriter.Write(batch.WriteBatch); err != nil {
		return err
	}
	return j.append(batch.gone, nil, batch.keysGone)
}

// openLocks sets the locks that a killed process has left.
func openLocks(path string, bundle *mvcc.DBBundle, writer mvcc.DBWriter) (*lockJournal, error) {
	bytes, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	locks := map[string][]byte{}
	for len(bytes) >= 8 {
		key := int(binary.LittleEndian.Uint32(bytes))
		end := 8 + key + int(binary.LittleEndian.Uint32(bytes[4:]))
		if end > len(bytes) {
			break
		}
		locks[string(bytes[8:8+key])] = bytes[8+key : end]
		bytes = bytes[end:]
	}
	txn := bundle.DB.NewTransaction(false)
	defer txn.Discard()
	txn.SetReadTS(math.MaxUint64)
	live := map[string]struct{}{}
	var left []byte
	for key, bytes := range locks {
		if len(bytes) == 0 {
			continue
		}
		lock := mvcc.DecodeLock(bytes)
		item, err := txn.Get([]byte(key))
		if err == nil && mvcc.DBUserMeta(item.UserMeta()).StartTS() == lock.StartTS {
			continue
		}
		bundle.LockStore.Put([]byte(key), bytes)
		live[key] = struct{}{}
		left = appendLock(left, []byte(key), bytes)
	}
	if err := os.WriteFile(path, left, 0o644); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &lockJournal{DBWriter: writer, file: file, bytes: len(left), live: live}, nil
}
