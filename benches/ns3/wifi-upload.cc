// Stations that upload over 802.11b at 11 Mbit/s in ns-3, to put beside scenarios/bench/wifi-*.toml and benches/ns2/wifi.tcl: NewReno flows of
// 1460-octet segments to one node, one ACK a segment, all in range. Prints how many segments were delivered.
//
//     apt-get install libns3-dev libgsl-dev g++ pkg-config
//     c++ -O2 -o /tmp/wifi-upload benches/ns3/wifi-upload.cc $(pkg-config --cflags --libs ns3-wifi ns3-mobility ns3-internet ns3-applications)
//     /tmp/wifi-upload --stations=20 --seconds=20

#include <iostream>

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/mobility-helper.h"
#include "ns3/neighbor-cache-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/propagation-delay-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/yans-wifi-channel.h"
#include "ns3/yans-wifi-helper.h"

using namespace ns3;

static const uint32_t kSegment = 1460;
static const uint16_t kPort = 9;

int main(int argc, char* argv[]) {
    uint32_t stations = 1, seconds = 20;
    CommandLine arguments(__FILE__);
    arguments.AddValue("stations", "that upload", stations);
    arguments.AddValue("seconds", "of simulated time", seconds);
    arguments.Parse(argc, argv);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    // As in ns-2. With more, and with 50 stations all the same, ns-3.37 ends with a segmentation fault (TcpRateLinux::SkbSent).
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1000 * kSegment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(40 * kSegment));

    NodeContainer nodes(stations + 1);
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    Ptr<FixedRssLossModel> loss = CreateObject<FixedRssLossModel>();
    loss->SetRss(-40);
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("DsssRate11Mbps"), "ControlMode",
                                 StringValue("DsssRate1Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);

    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    NeighborCacheHelper().PopulateNeighborCache();
    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
    ApplicationContainer sink = sinks.Install(nodes.Get(0));
    BulkSendHelper uploads("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(0), kPort));
    uploads.SetAttribute("SendSize", UintegerValue(kSegment));
    for (uint32_t station = 1; station <= stations; ++station) {
        uploads.Install(nodes.Get(station));
    }

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<PacketSink>(sink.Get(0))->GetTotalRx() / kSegment << std::endl;
    Simulator::Destroy();
    return 0;
}
