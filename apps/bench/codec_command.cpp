#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/codec_choice.h"
#include "apps/bench/codec_measure.h"
#include "apps/bench/commands.h"
#include "apps/bench/gradient_set.h"
#include "apps/bench/json_file.h"
#include "apps/bench/progress.h"
#include "apps/bench/reference.h"
#include "apps/bench/table.h"

namespace sumwire::apps {
namespace {

struct Settings {
    std::vector<std::filesystem::path> gradients{"tests/data/gradients/ncf"};
    SyntheticSpec synthetic{.elements = 0, .density = 0.05};
    std::string shape = "uniform";
    unsigned workers = 4;
    std::vector<std::string> codecs{"all"};
    std::vector<std::string> arithmetics{"all"};
    unsigned repetitions = 5;
    std::string json;
    bool progress = false;
};

const Table& codec_table() {
    static const Table table({{"set", 16, true},
                              {"codec", 15, true},
                              {"arithmetic", 0, true},
                              {"encode(GB/s)"},
                              {"decode(GB/s)"},
                              {"memcpy(GB/s)"},
                              {"wire(B)", 10},
                              {"of dense"},
                              {"bound(B)", 10},
                              {"stalls"},
                              {"exact"}});
    return table;
}

void report(const GradientSet& set, std::size_t present, const CodecRun& run,
            const CodecMeasurement& result, JsonFile& json) {
    const auto bytes = static_cast<double>(set.dense_bytes());
    const auto bound = bound_bytes(set.elements(), present);
    const auto rate = [bytes](double seconds) { return bytes * 1e-9 / seconds; };
    const auto codec = name_of(run.config.codec);
    const auto arithmetic = name_of(run.config.arithmetic);
    codec_table().print_row(
        {set.name(), fmt::format("{}{}", codec, run.warmed ? " (warmed)" : ""),
         std::string(arithmetic), fmt::format("{:.2f}", rate(result.encode_seconds)),
         fmt::format("{:.2f}", rate(result.decode_seconds)),
         fmt::format("{:.2f}", rate(result.memcpy_seconds)), fmt::format("{}", result.wire_bytes),
         fmt::format("{:.3f}", static_cast<double>(result.wire_bytes) / bytes),
         fmt::format("{:.0f}", bound), fmt::format("{}", result.stalls),
         result.exact ? "yes" : "NO"});
    json.add({{"set", set.name()},
              {"codec", codec},
              {"arithmetic", arithmetic},
              {"warmed", run.warmed},
              {"elements", set.elements()},
              {"workers", run.config.world_size},
              {"union_density", static_cast<double>(present) / static_cast<double>(set.elements())},
              {"dense_bytes", set.dense_bytes()},
              {"wire_bytes", result.wire_bytes},
              {"bound_bytes", bound},
              {"encode_gb_s", rate(result.encode_seconds)},
              {"decode_gb_s", rate(result.decode_seconds)},
              {"memcpy_gb_s", rate(result.memcpy_seconds)},
              {"stalls", result.stalls},
              {"exact", result.exact}});
}

bool run_set(const GradientSet& set, const std::vector<CodecChoice>& choices, unsigned repetitions,
             Progress& progress, JsonFile& json) {
    progress.show(fmt::format("{}: reference sums", set.name()));
    Reference reference(set);
    const auto present = union_elements(set);
    bool exact = true;
    for (const auto& choice : choices) {
        for (const bool warmed : {false, true}) {
            if (warmed && choice.codec != gpu::Codec::sketch) continue;
            progress.show(fmt::format("{}: {} {}", set.name(), name_of(choice.codec),
                                      name_of(choice.arithmetic)));
            const CodecRun run{
                .config = {.codec = choice.codec,
                           .arithmetic = choice.arithmetic,
                           .world_size = static_cast<std::uint32_t>(set.ranks.size())},
                .warmed = warmed,
                .repetitions = repetitions};
            const auto expected = reference.of(choice.arithmetic);
            const auto result =
                measure_codec(set.ranks, run, [&expected](std::span<const float> sums) {
                    return expected.count_wrong(sums) == 0;
                });
            progress.clear();
            report(set, present, run, result, json);
            exact &= result.exact;
        }
    }
    return exact;
}

bool run(const Settings& settings) {
    const auto choices = choose_codecs(settings.codecs, settings.arithmetics);
    auto synthetic = settings.synthetic;
    synthetic.shape = parse_shape(settings.shape);
    const auto sources = synthetic.elements == 0
                             ? find_gradient_sources(settings.gradients, std::nullopt)
                             : std::vector<GradientSource>{[&synthetic, &settings] {
                                   return make_synthetic_set(synthetic, settings.workers);
                               }};
    JsonFile json(settings.json);
    Progress progress(settings.progress);
    print_banner(
        {"Codecs: rank 0's encode and decode on one core, all ranks combined in memory, NO "
         "NETWORK",
         fmt::format("GB/s of dense gradient, medians of {}; wire: payload of one rank, one "
                     "direction, without headers; bound: entropy of the union's positions "
                     "and 32 bits for each of its elements",
                     settings.repetitions)});
    codec_table().print_head();
    bool exact = true;
    for (const auto& source : sources) {
        progress.show("loading gradients");
        exact &= run_set(source(), choices, settings.repetitions, progress, json);
    }
    json.save();
    return exact;
}

}  // namespace

void add_codec_command(CLI::App& app, int& exit_code) {
    auto settings = std::make_shared<Settings>();
    auto* command =
        app.add_subcommand("codec", "Codecs: encode and decode rates and bytes, without a network");
    auto* gradients = command
                          ->add_option("--gradients", settings->gradients,
                                       "Directory of stepNNN-workerM.npy[.zst]; several allowed")
                          ->check(CLI::ExistingDirectory)
                          ->capture_default_str();
    auto* elements = command
                         ->add_option("--elements", settings->synthetic.elements,
                                      "Synthetic gradients of this length instead")
                         ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30U))
                         ->excludes(gradients);
    command
        ->add_option("--density", settings->synthetic.density,
                     "Share of non-zeros of one synthetic worker")
        ->check(CLI::Range(1e-6, 1.0))
        ->needs(elements)
        ->capture_default_str();
    command->add_option("--shape", settings->shape, "Where they lie: uniform, runs or rows")
        ->check(CLI::IsMember({"uniform", "runs", "rows"}))
        ->needs(elements)
        ->capture_default_str();
    command->add_option("--workers", settings->workers, "Synthetic workers")
        ->check(CLI::Range(1, 1024))
        ->needs(elements)
        ->capture_default_str();
    command->add_option("--codec", settings->codecs, "dense, packed, sketch or all")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--arithmetic", settings->arithmetics, "exact, f32, fixed32 or all")
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--repetitions", settings->repetitions, "Timed passes")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command->add_option("--json", settings->json, "Write the rows to this file");
    command->add_flag("--progress", settings->progress,
                      "Progress on standard error, terminal or not");
    command->callback([settings, &exit_code] { exit_code = run(*settings) ? 0 : 1; });
}

}  // namespace sumwire::apps
