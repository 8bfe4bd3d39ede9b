// Which codecs and arithmetics a benchmark runs, from what the command line says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/codec/chunk_codec.h"
#include "sumwire/communicator.h"

namespace sumwire::apps {

struct CodecChoice {
    gpu::Codec codec{};
    gpu::Arithmetic arithmetic{};
};

std::string_view name_of(gpu::Codec codec);
std::string_view name_of(gpu::Arithmetic arithmetic);

// Every combination of the named codecs ("all" or some of dense, packed, sketch) and arithmetics
// ("default": fixed32 for sketch and exact for the others; "all" or some of exact, f32, fixed32).
// Throws std::invalid_argument for an unknown name, and for sketch with f32 if both were named.
std::vector<CodecChoice> choose_codecs(const std::vector<std::string>& codecs,
                                       const std::vector<std::string>& arithmetics);

// The same in the public interface's words.
Codec public_codec(gpu::Codec codec);
Arithmetic public_arithmetic(gpu::Arithmetic arithmetic);

}  // namespace sumwire::apps
