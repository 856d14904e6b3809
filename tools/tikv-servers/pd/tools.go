//go:build tools

package tools

import _ "github.com/tikv/pd/cmd/pd-server"
