// Saturation throughput of an 802.11 cell in ns-3, to put beside ours and Bianchi's model: stations that always have a datagram of 1500
// octets for one sink, all in range, no capture. Prints what arrived in Mbit/s of datagrams.
//
//     apt-get install libns3-dev libgsl-dev g++ pkg-config
//     c++ -O2 -o /tmp/wifi-saturated benches/ns3/wifi-saturated.cc $(pkg-config --cflags --libs ns3-wifi ns3-mobility ns3-network)
//     /tmp/wifi-saturated --standard=b --stations=20 --seconds=100 [--rts] [--seed=1]

#include <iostream>

#include "ns3/boolean.h"
#include "ns3/command-line.h"
#include "ns3/mobility-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-socket-address.h"
#include "ns3/packet-socket-client.h"
#include "ns3/packet-socket-helper.h"
#include "ns3/packet-socket-server.h"
#include "ns3/packet.h"
#include "ns3/propagation-delay-model.h"
#include "ns3/propagation-loss-model.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-remote-station-manager.h"
#include "ns3/yans-wifi-channel.h"
#include "ns3/yans-wifi-helper.h"

using namespace ns3;

static const double kWarmUp = 5;
static const uint32_t kDatagram = 1500;

static uint64_t g_octets = 0;

static void Arrived(Ptr<const Packet> packet, const Address&) {
    if (Simulator::Now().GetSeconds() >= kWarmUp) {
        g_octets += packet->GetSize();
    }
}

int main(int argc, char* argv[]) {
    std::string standard = "b";
    uint32_t stations = 1, seconds = 100, seed = 1;
    bool rts = false;
    CommandLine arguments(__FILE__);
    arguments.AddValue("standard", "b or a", standard);
    arguments.AddValue("stations", "that send", stations);
    arguments.AddValue("seconds", "that count", seconds);
    arguments.AddValue("rts", "before every datagram", rts);
    arguments.AddValue("seed", "of the run", seed);
    arguments.Parse(argc, argv);
    RngSeedManager::SetRun(seed);

    const bool isB = standard == "b";
    const std::string data = isB ? "DsssRate11Mbps" : "OfdmRate54Mbps";
    const std::vector<std::string> basic =
        isB ? std::vector<std::string>{"DsssRate1Mbps", "DsssRate2Mbps"}
            : std::vector<std::string>{"OfdmRate6Mbps", "OfdmRate12Mbps", "OfdmRate24Mbps"};

    NodeContainer nodes(stations + 1);
    // Everybody hears everybody at one power, so that no frame survives a collision; nothing takes time to arrive.
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    Ptr<FixedRssLossModel> loss = CreateObject<FixedRssLossModel>();
    loss->SetRss(-40);
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);

    WifiHelper wifi;
    wifi.SetStandard(isB ? WIFI_STANDARD_80211b : WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(data), "ControlMode",
                                 StringValue(basic.back()), "RtsCtsThreshold", UintegerValue(rts ? 0 : 65535));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    for (uint32_t at = 0; at < devices.GetN(); ++at) {
        Ptr<WifiRemoteStationManager> manager =
            DynamicCast<WifiNetDevice>(devices.Get(at))->GetRemoteStationManager();
        for (const std::string& mode : basic) {
            manager->AddBasicMode(WifiMode(mode));
        }
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);

    PacketSocketHelper sockets;
    sockets.Install(nodes);
    PacketSocketAddress sink;
    sink.SetSingleDevice(devices.Get(0)->GetIfIndex());
    sink.SetPhysicalAddress(devices.Get(0)->GetAddress());
    sink.SetProtocol(1);
    Ptr<PacketSocketServer> server = CreateObject<PacketSocketServer>();
    server->SetLocal(sink);
    server->TraceConnectWithoutContext("Rx", MakeCallback(&Arrived));
    nodes.Get(0)->AddApplication(server);
    // Twice what the cell carries.
    const double interval = stations * kDatagram * 8 / (isB ? 14e6 : 70e6);
    for (uint32_t station = 1; station <= stations; ++station) {
        PacketSocketAddress to = sink;
        to.SetSingleDevice(devices.Get(station)->GetIfIndex());
        Ptr<PacketSocketClient> client = CreateObject<PacketSocketClient>();
        client->SetRemote(to);
        client->SetAttribute("PacketSize", UintegerValue(kDatagram));
        client->SetAttribute("MaxPackets", UintegerValue(0));
        client->SetAttribute("Interval", TimeValue(Seconds(interval)));
        client->SetStartTime(Seconds(station * interval / stations));
        nodes.Get(station)->AddApplication(client);
    }

    Simulator::Stop(Seconds(kWarmUp + seconds));
    Simulator::Run();
    std::cout << standard << (rts ? " RTS/CTS " : " basic ") << stations << " "
              << g_octets * 8.0 / seconds / 1e6 << std::endl;
    Simulator::Destroy();
    return 0;
}
