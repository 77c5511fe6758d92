// CoDel and FQ-CoDel in ns-3, to put beside scenarios/bench/codel.toml: three senders of datagrams, 8.3, 5.4 and 0.06 Mbit/s, through
// 10 Mbit/s. Prints the drops by the end of each second, and what of each sender arrived, with its delay.
//
//     apt-get install libns3-dev libgsl-dev g++ pkg-config
//     c++ -O2 -o /tmp/codel benches/ns3/codel.cc $(pkg-config --cflags --libs ns3-internet ns3-point-to-point ns3-traffic-control ns3-applications)
//     /tmp/codel --discipline=CoDel
//     /tmp/codel --discipline=FqCoDel

#include <algorithm>
#include <iostream>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int main(int argc, char* argv[]) {
    std::string discipline = "CoDel";
    double seconds = 20;
    CommandLine command;
    command.AddValue("discipline", "CoDel or FqCoDel", discipline);
    command.AddValue("seconds", "duration", seconds);
    command.Parse(argc, argv);

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::" + discipline + "QueueDisc", "MaxSize", StringValue("10000p"), "UseEcn", BooleanValue(false));
    Ptr<QueueDisc> queue = control.Install(devices).Get(0);
    Ipv4AddressHelper addresses("10.9.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    // Two octets less of payload than there: the link's own header has them.
    struct Flow { uint32_t payload; double interval; double start; };
    std::vector<Flow> flows = {{1010, 1e-3, 0.0}, {310, 0.5e-3, 0.1e-3}, {130, 20e-3, 0.2e-3}};
    std::vector<std::vector<double>> delays(flows.size());
    for (size_t i = 0; i < flows.size(); i++) {
        uint16_t port = 5001 + i;
        UdpServerHelper server(port);
        Ptr<UdpServer> sink = DynamicCast<UdpServer>(server.Install(nodes.Get(1)).Get(0));
        sink->TraceConnectWithoutContext("Rx", Callback<void, Ptr<const Packet>>([&delays, i](Ptr<const Packet> packet) {
            SeqTsHeader header;
            packet->PeekHeader(header);
            delays[i].push_back((Simulator::Now() - header.GetTs()).GetSeconds());
        }));
        UdpClientHelper client(interfaces.GetAddress(1), port);
        client.SetAttribute("MaxPackets", UintegerValue(1u << 31));
        client.SetAttribute("Interval", TimeValue(Seconds(flows[i].interval)));
        client.SetAttribute("PacketSize", UintegerValue(flows[i].payload));
        client.Install(nodes.Get(0)).Start(Seconds(flows[i].start));
    }
    std::cout << "drops by the end of each second:";
    for (int second = 1; second <= seconds; second++) {
        Simulator::Schedule(Seconds(second), [queue] { std::cout << ' ' << queue->GetStats().nTotalDroppedPackets; });
    }
    Simulator::Stop(Seconds(seconds + 1e-6));
    Simulator::Run();
    std::cout << '\n';
    for (size_t i = 0; i < flows.size(); i++) {
        double sum = 0;
        for (double delay : delays[i]) { sum += delay; }
        std::sort(delays[i].begin(), delays[i].end());
        std::cout << "port " << 5001 + i << ": " << delays[i].size() << " arrived, delay " << 1e3 * sum / delays[i].size()
                  << " ms in the mean, " << 1e3 * delays[i][delays[i].size() * 95 / 100] << " ms at the 95th percentile\n";
    }
    Simulator::Destroy();
}
