// A store of one process that speaks the protocol of TiKV: unistore, which TiDB has for its tests. It differs from
// unistore where that one differs from TiKV. It is no Raft cluster: there is one replica, and regions only split.
package main

import (
	"context"
	"flag"
	"log"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pingcap/badger"
	"github.com/pingcap/kvproto/pkg/deadlock"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/config"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/lockstore"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/pd"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv/mvcc"
	"google.golang.org/grpc"
)

type shim struct{ *tikv.Server }

// KvGet says that a key is missing. unistore returns an empty value, for which TiDB's client looks.
func (s shim) KvGet(ctx context.Context, r *kvrpcpb.GetRequest) (*kvrpcpb.GetResponse, error) {
	resp, err := s.Server.KvGet(ctx, r)
	if err == nil && resp.Error == nil && resp.RegionError == nil && len(resp.Value) == 0 {
		resp.NotFound = true
	}
	return resp, err
}

// KvScan scans backward by a scan forward. unistore makes its iterator for that before it has set the timestamp of the
// request, so that it may return older rows.
func (s shim) KvScan(ctx context.Context, r *kvrpcpb.ScanRequest) (*kvrpcpb.ScanResponse, error) {
	if !r.Reverse {
		return s.Server.KvScan(ctx, r)
	}
	forward := *r
	forward.Reverse, forward.Limit = false, math.MaxUint32
	forward.StartKey, forward.EndKey = r.EndKey, r.StartKey
	resp, err := s.Server.KvScan(ctx, &forward)
	if err == nil {
		slices.Reverse(resp.Pairs)
		resp.Pairs = resp.Pairs[:min(len(resp.Pairs), int(r.Limit))]
	}
	return resp, err
}

// newServer does what unistore's own server.New does, with a lockJournal.
func newServer(conf *config.Config, pdc pd.Client) (*tikv.Server, error) {
	physical, logical, err := pdc.GetTS(context.Background())
	if err != nil {
		return nil, err
	}
	options := badger.DefaultOptions
	options.ManagedTxns = true
	options.Dir = filepath.Join(conf.Engine.DBPath, "kv")
	options.ValueDir = options.Dir
	options.ValueLogFileSize = conf.Engine.VlogFileSize
	options.ValueThreshold = conf.Engine.ValueThreshold
	options.MaxMemTableSize = conf.Engine.MaxMemTableSize
	safePoint := &tikv.SafePoint{}
	options.CompactionFilterFactory = safePoint.CreateCompactionFilter
	db, err := badger.Open(options)
	if err != nil {
		return nil, err
	}
	bundle := &mvcc.DBBundle{
		DB:        db,
		LockStore: lockstore.NewMemStore(8 << 20),
		StateTS:   uint64(physical)<<18 + uint64(logical),
	}
	writer, err := openLocks(filepath.Join(conf.Engine.DBPath, "locks"), bundle, tikv.NewDBWriter(bundle))
	if err != nil {
		return nil, err
	}
	regions := tikv.NewStandAloneRegionManager(bundle, tikv.RegionOptions{
		StoreAddr:  conf.Server.StoreAddr,
		PDAddr:     conf.Server.PDAddr,
		RegionSize: conf.Server.RegionSize,
	}, pdc)
	inner := tikv.NewStandAlongInnerServer(bundle)
	inner.Setup(pdc)
	store := tikv.NewMVCCStore(conf, bundle, conf.Engine.DBPath, safePoint, writer, pdc)
	store.DeadlockDetectSvr.ChangeRole(tikv.Leader)
	if err := inner.Start(pdc); err != nil {
		return nil, err
	}
	store.StartDeadlockDetection(false)
	return tikv.NewServer(regions, store, inner), nil
}

func main() {
	pdAddr := flag.String("pd", "127.0.0.1:2379", "PD address")
	addr := flag.String("addr", "127.0.0.1:20160", "store listen address")
	dir := flag.String("data-dir", "", "data directory")
	rs := flag.Int64("region-size", 64<<20, "region size")
	flag.Parse()
	conf := config.DefaultConf
	conf.Server.PDAddr = *pdAddr
	conf.Server.StoreAddr = *addr
	conf.Server.Raft = false
	conf.Server.RegionSize = *rs
	conf.Engine.DBPath = *dir
	if err := os.MkdirAll(*dir+"/kv", 0o755); err != nil {
		log.Fatal(err)
	}
	pdc, err := pd.NewClient([]string{*pdAddr}, "")
	if err != nil {
		log.Fatal("pd: ", err)
	}
	svr, err := newServer(&conf, pdc)
	if err != nil {
		log.Fatal("store: ", err)
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	tikvpb.RegisterTikvServer(g, shim{svr})
	deadlock.RegisterDeadlockServer(g, svr)
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	go func() { <-c; g.Stop(); svr.Stop(); os.Exit(0) }()
	log.Println("unistore-server listening on", *addr)
	log.Fatal(g.Serve(l))
}
