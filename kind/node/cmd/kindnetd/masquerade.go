package main

import (
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// Where an IPv4 header has its addresses, in bytes.
const (
	sourceOffset      = 12
	destinationOffset = 16
	addressLength     = 4
)

// masquerade gives packets from pods to addresses outside the cluster the node's
// address. The table is our own: a restart writes it again.
func masquerade(pods netip.Prefix) error {
	c, err := nftables.New()
	if err != nil {
		return err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "kindnet"})
	c.FlushTable(table)
	chain := c.AddChain(&nftables.Chain{
		Name:     "postrouting",
		Table:    table,
		Type:     nftables.ChainTypeNAT,
		Hooknum:  nftables.ChainHookPostrouting,
		Priority: nftables.ChainPriorityNATSource,
	})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: masqueradeRule(pods)})
	return c.Flush()
}

// masqueradeRule is: ip saddr PODS ip daddr != PODS masquerade.
func masqueradeRule(pods netip.Prefix) []expr.Any {
	var rule []expr.Any
	rule = append(rule, matchAddress(sourceOffset, expr.CmpOpEq, pods)...)
	rule = append(rule, matchAddress(destinationOffset, expr.CmpOpNeq, pods)...)
	return append(rule, &expr.Masq{})
}

func matchAddress(offset uint32, op expr.CmpOp, p netip.Prefix) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: addressLength},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: addressLength, Mask: ipNet(p).Mask, Xor: make([]byte, addressLength)},
		&expr.Cmp{Op: op, Register: 1, Data: p.Masked().Addr().AsSlice()},
	}
}
