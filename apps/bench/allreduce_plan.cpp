#include "apps/bench/allreduce_plan.h"

namespace sumwire::apps {

void to_json(nlohmann::json& json, const RankReport& report) {
    json = {{"seconds", report.seconds},
            {"first_seconds", report.first_seconds},
            {"wire_bytes_tx", report.wire_bytes_tx},
            {"wire_bytes_rx", report.wire_bytes_rx},
            {"first_wire_bytes_tx", report.first_wire_bytes_tx},
            {"wrong", report.wrong},
            {"stalls", report.stalls},
            {"retransmissions", report.retransmissions},
            {"digest", report.digest}};
}

void from_json(const nlohmann::json& json, RankReport& report) {
    json.at("seconds").get_to(report.seconds);
    json.at("first_seconds").get_to(report.first_seconds);
    json.at("wire_bytes_tx").get_to(report.wire_bytes_tx);
    json.at("wire_bytes_rx").get_to(report.wire_bytes_rx);
    json.at("first_wire_bytes_tx").get_to(report.first_wire_bytes_tx);
    json.at("wrong").get_to(report.wrong);
    json.at("stalls").get_to(report.stalls);
    json.at("retransmissions").get_to(report.retransmissions);
    json.at("digest").get_to(report.digest);
}

void to_json(nlohmann::json& json, const AllreducePlan& plan) {
    auto choices = nlohmann::json::array();
    for (const auto& choice : plan.choices)
        choices.push_back({static_cast<int>(choice.codec), static_cast<int>(choice.arithmetic)});
    json = {{"choices", choices}, {"warmup", plan.warmup}, {"iterations", plan.iterations}};
}

void from_json(const nlohmann::json& json, AllreducePlan& plan) {
    for (const auto& choice : json.at("choices"))
        plan.choices.push_back({static_cast<gpu::Codec>(choice.at(0).get<int>()),
                                static_cast<gpu::Arithmetic>(choice.at(1).get<int>())});
    json.at("warmup").get_to(plan.warmup);
    json.at("iterations").get_to(plan.iterations);
}

}  // namespace sumwire::apps
