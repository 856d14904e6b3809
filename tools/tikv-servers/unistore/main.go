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
	"slices"
	"syscall"

	"github.com/pingcap/kvproto/pkg/deadlock"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/config"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/pd"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/server"
	"github.com/pingcap/tidb/pkg/store/mockstore/unistore/tikv"
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

func main() {
	pdAddr := flag.String("pd", "127.0.0.1:2379", "PD address")
	addr := flag.String("addr", "127.0.0.1:20160", "store listen address")
	dir := flag.String("data-dir", "", "data directory")
	rs := flag.Int64("region-size", 64<<20, "region size")
	sync := flag.Bool("sync", false, "sync writes")
	flag.Parse()
	conf := config.DefaultConf
	conf.Server.PDAddr = *pdAddr
	conf.Server.StoreAddr = *addr
	conf.Server.Raft = false
	conf.Server.RegionSize = *rs
	conf.Engine.DBPath = *dir
	conf.Engine.SyncWrite = *sync
	if err := os.MkdirAll(*dir+"/kv", 0o755); err != nil {
		log.Fatal(err)
	}
	pdc, err := pd.NewClient([]string{*pdAddr}, "")
	if err != nil {
		log.Fatal("pd: ", err)
	}
	svr, err := server.New(&conf, pdc)
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
