#!/bin/sh
# Records what a real Open vSwitch prints of IPv6: rules and datapath flows of two vSwitches with
# ports and datapath of its own tests (ovs-vswitchd --enable-dummy), so neither root nor a kernel
# module is needed. Two datapath flows are given by hand, as a kernel's tunnel would make them.
#
#   tests/data/open_vswitch/record_ipv6.sh    writes ipv6/host-0.txt and ipv6/host-1.txt
set -eu
here=$(cd "$(dirname "$0")" && pwd)

record() { # host, own end of the tunnel, the peer's, prefix of its containers; rules on stdin
  at=$(mktemp -d)
  export OVS_RUNDIR="$at" OVS_LOGDIR="$at" OVS_DBDIR="$at"
  cat >"$at/rules"
  cd "$at"
  ovsdb-tool create conf.db /usr/share/openvswitch/vswitch.ovsschema
  ovsdb-server conf.db --remote=punix:db.sock --pidfile --detach --no-chdir --log-file=db.log
  ovs-vsctl --db=unix:db.sock --no-wait init
  ovs-vswitchd unix:db.sock --enable-dummy --pidfile --detach --no-chdir --log-file=switch.log
  ovs-vsctl --db=unix:db.sock add-br br0 -- set bridge br0 datapath_type=dummy fail_mode=secure \
    -- add-port br0 c0 -- set interface c0 type=dummy \
    -- add-port br0 c1 -- set interface c1 type=dummy \
    -- add-port br0 vx0 -- set interface vx0 type=vxlan options:remote_ip=flow options:key=flow
  ovs-ofctl --names add-flows unix:br0.mgmt rules
  appctl="ovs-appctl -t $at/ovs-vswitchd.$(cat ovs-vswitchd.pid).ctl"
  for number in 1 2 3; do
    $appctl netdev-dummy/receive c1 "in_port(2),eth(src=02:00:00:00:00:02,dst=02:00:00:00:00:01),\
eth_type(0x86dd),ipv6(src=$4::2,dst=$4::1,label=0,proto=17,tclass=104,hlimit=64,frag=no),\
udp(src=50000,dst=65300)"
    $appctl netdev-dummy/receive c1 "in_port(2),eth(src=02:00:00:00:00:02,dst=33:33:ff:00:00:01),\
eth_type(0x86dd),ipv6(src=$4::2,dst=ff02::1:ff00:1,label=0,proto=58,tclass=0,hlimit=255,frag=no),\
icmpv6(type=135,code=0),nd(target=$4::1,sll=02:00:00:00:00:02)"
  done
  inner="eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x86dd),\
ipv6(src=::/::,dst=$4::1,proto=17,frag=no),udp(src=0/0,dst=0/0)"
  $appctl dpctl/add-flow "recirc_id(0),in_port(4789),packet_type(ns=0,id=0),\
tunnel(tun_id=0x64,ipv6_src=$3,ipv6_dst=$2,ttl=64/0,flags(+key)),$inner" 1
  $appctl dpctl/add-flow "recirc_id(0),in_port(1),packet_type(ns=0,id=0),$inner" \
    "set(tunnel(tun_id=0x64,ipv6_src=$2,ipv6_dst=$3,ttl=64,tp_dst=4789,flags(df|key))),4789"
  {
    echo "\$ /usr/bin/ovs-ofctl --names dump-flows br0"
    ovs-ofctl --names dump-flows unix:br0.mgmt
    echo "\$ /usr/bin/ovs-appctl dpctl/dump-flows -m"
    $appctl dpctl/dump-flows -m
  } >"$here/ipv6/$1.txt"
  kill "$(cat ovs-vswitchd.pid)" "$(cat ovsdb-server.pid)"
  cd "$here"
  rm -rf "$at"
}

record host-0 fd00:1::1 fd00:1::2 fd01:0:0 <<'END'
table=0,priority=20,icmp6,icmp_type=135,actions=FLOOD
table=0,priority=10,udp6,actions=resubmit(,10)
table=0,priority=1,tcp6,actions=drop
table=10,priority=20,ipv6,ipv6_dst=fd01::1,actions=output:c0
table=10,priority=20,ipv6,ipv6_dst=fd01::2,actions=output:c1
table=10,priority=15,ipv6,ipv6_dst=fd01:0:1::/48,actions=set_field:fd00:1::2->tun_ipv6_dst,set_field:0x64->tun_id,output:vx0
table=10,priority=20,ipv6,ipv6_dst=fd01:0:1::2,actions=set_field:fd00:1::2->tun_ipv6_dst,output:vx0
table=20,priority=6,ipv6,ipv6_src=fd02::/16,actions=drop
table=10,priority=5,ip,nw_dst=172.16.0.0/255.255.0.255,actions=drop
END
record host-1 fd00:1::2 fd00:1::1 fd01:0:1 <<'END'
table=0,priority=5,dl_dst=33:33:00:00:00:00/ff:ff:00:00:00:00,actions=FLOOD
table=0,priority=10,eth_type=0x86dd,ip_proto=17,actions=resubmit(,10)
table=10,priority=20,ipv6,ipv6_dst=fd01:0:1::1,actions=output:c0
table=10,priority=20,ipv6,ipv6_dst=fd01:0:1::2,actions=output:c1
table=10,priority=15,ipv6,ipv6_dst=fd01::1,actions=set_field:fd00:1::1->tun_ipv6_dst,output:vx0
table=10,priority=14,ipv6,ipv6_dst=fd01::2/ffff:ffff:ffff::ffff,actions=drop
table=10,priority=13,ipv6,ipv6_dst=fd01::2,actions=set_field:fd00:1::1->tun_ipv6_dst,output:vx0
END
