// Array files, well-formed and damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "apps/support/npy.h"
#include "apps/support/npy_header.h"
#include "tests/unit/apps/scratch.h"

namespace sumwire::apps {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 1, -2, 0.5 in little endian, byte by byte.
const std::string three_floats("\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f", 12);

class Npy : public Scratch {};

TEST_F(Npy, ReadsWhatNumpyWrites) {
    const auto path = write("a.npy", float32_npy("(3,)", three_floats));
    EXPECT_THAT(read_npy(path), ElementsAre(1.0F, -2.0F, 0.5F));
}

TEST_F(Npy, ReadsAnyShapeFlattened) {
    for (const std::string shape : {"(3, 1)", "(1,3)", "( 1 , 3 , 1 )", "(3)"})
        EXPECT_EQ(read_npy(write("a.npy", float32_npy(shape, three_floats))).size(), 3U) << shape;
    EXPECT_THAT(read_npy(write("s.npy", float32_npy("()", three_floats.substr(0, 4)))),
                ElementsAre(1.0F));
    EXPECT_THAT(read_npy(write("e.npy", float32_npy("(0,)", ""))), IsEmpty());
    EXPECT_THAT(read_npy(write("e.npy", float32_npy("(4294967296, 4294967296, 0)", ""))),
                IsEmpty());
}

TEST_F(Npy, ReadsKeysInAnyOrderAndLongerLengthFields) {
    const std::string dictionary = "{\"shape\":(3,),'fortran_order':True,'descr':'<f4'}";
    const std::string version3 = std::string("\x93NUMPY\x03\x00", 8) +
                                 static_cast<char>(dictionary.size()) + std::string(3, '\0') +
                                 dictionary + three_floats;
    EXPECT_THAT(read_npy(write("a.npy", version3)), ElementsAre(1.0F, -2.0F, 0.5F));
}

TEST_F(Npy, ReadsZstdWhateverItsName) {
    const std::string file = float32_npy("(3,)", three_floats);
    EXPECT_EQ(read_npy(write("a.npy.zst", compress(file))).size(), 3U);
    EXPECT_EQ(read_npy(write("a.npy", compress(file))).size(), 3U);
    const std::string in_two_frames = compress(file.substr(0, 50)) + compress(file.substr(50));
    EXPECT_EQ(read_npy(write("b.npy.zst", in_two_frames)).size(), 3U);
}

TEST_F(Npy, ReadsLargeCompressedFiles) {
    std::mt19937 random(1);
    std::vector<float> values(3'000'001);
    for (float& value : values)
        value = random() % 4 == 0
                    ? std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x7f7fffffU))
                    : 0.0F;
    std::string data(values.size() * sizeof(float), '\0');
    std::memcpy(data.data(), values.data(), data.size());
    EXPECT_EQ(read_npy(write("a.npy.zst", compress(float32_npy("(3000001,)", data)))), values);
}

TEST_F(Npy, WritesWhatItReads) {
    for (const auto& values : std::vector<std::vector<float>>{{}, {1, -2, 0.5F}, {3e38F}}) {
        const auto path = directory() / "out.npy";
        write_npy(path, values);
        EXPECT_EQ(read_npy(path), values);
        EXPECT_EQ((std::filesystem::file_size(path) - 4 * values.size()) % 64, 0U);
    }
}

TEST_F(Npy, SaysThatItCannotWrite) {
    EXPECT_THAT(message_of<InputError>([] { write_npy("/nowhere/a.npy", {}); }),
                HasSubstr("'/nowhere/a.npy' cannot be written"));
}

struct BadFile {
    std::string name;
    std::string bytes;
    std::vector<std::string> message;
};

std::vector<BadFile> bad_files() {
    const std::string good = float32_npy("(3,)", three_floats);
    const std::string packed = compress(good);
    std::string corrupt = compress(float32_npy("(4096,)", std::string(16384, 'x')));
    corrupt[4] = static_cast<char>(~corrupt[4]);  // the frame's header
    const auto of_type = [](const std::string& descr, const std::string& data) {
        return npy_bytes("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }", data);
    };
    std::string huge_header = good;
    huge_header.replace(6, 6, std::string("\x02\x00\xff\xff\xff\x7f", 6));
    return {
        {"empty", "", {"not a .npy file", "numpy.save"}},
        {"text", "1.0 2.0 3.0", {"not a .npy file"}},
        {"other version", std::string("\x93NUMPY\x09\x00", 8), {"version 9"}},
        {"header cut", good.substr(0, 40), {"truncated", "header"}},
        {"length cut", good.substr(0, 9), {"truncated", "header"}},
        {"data cut", good.substr(0, good.size() - 5), {"truncated", "5 of its 12 bytes"}},
        {"no data", good.substr(0, good.size() - 12), {"truncated", "12 of its 12 bytes"}},
        {"surplus", good + "x", {"goes on after the 3 elements"}},
        {"second array", good + good, {"goes on after"}},
        {"float64", of_type("'<f8'", std::string(8, '\0')), {"float64 ('<f8')", "astype('<f4')"}},
        {"float16", of_type("'<f2'", "xx"), {"float16 ('<f2')"}},
        {"int32", of_type("'<i4'", "xxxx"), {"int32 ('<i4')"}},
        {"big endian", of_type("'>f4'", "xxxx"), {"big-endian float32", "astype('<f4')"}},
        {"records", of_type("[('a', '<f4'), ('b', '<i4')]", "xxxxxxxx"), {"structured"}},
        {"object", of_type("'|O'", "xxxx"), {"'|O'"}},
        {"fortran",
         npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 1), }", three_floats),
         {"Fortran order", "ascontiguousarray"}},
        {"huge header", huge_header, {"header of 2147483647 bytes", "damaged"}},
        {"huge shape", float32_npy("(4000000000000000000,)", three_floats), {"no memory holds"}},
        {"overflowing shape",
         float32_npy("(99999999, 99999999, 99999999)", ""),
         {"no memory holds"}},
        {"no integer", float32_npy("(99999999999999999999999,)", ""), {"damaged .npy header"}},
        {"negative shape", float32_npy("(-3,)", three_floats), {"damaged .npy header"}},
        {"no dictionary", npy_bytes("hello", ""), {"damaged .npy header", "'{'"}},
        {"key missing", npy_bytes("{'descr': '<f4', 'shape': (3,)}", three_floats), {"missing"}},
        {"key twice", npy_bytes("{'descr': '<f4', 'descr': '<f4'}", ""), {"twice"}},
        {"damaged zstd", corrupt, {"cannot be unpacked with zstd"}},
        {"zstd cut", packed.substr(0, packed.size() - 4), {"truncated", "zstd frame"}},
        {"zstd of nothing", compress(""), {"not a .npy file"}},
        {"zstd and surplus", packed + "surplus", {"cannot be unpacked with zstd"}},
        {"data cut, packed", compress(good.substr(0, good.size() - 4)), {"4 of its 12 bytes"}},
    };
}

TEST_F(Npy, NamesCauseAndRemedyOfBadFiles) {
    for (const auto& [name, bytes, parts] : bad_files()) {
        const auto path = write("bad.npy", bytes);
        const std::string message = message_of<InputError>([&] { read_npy(path); });
        EXPECT_THAT(message, HasSubstr("'" + path.string() + "'")) << name;
        for (const auto& part : parts)
            EXPECT_THAT(message, HasSubstr(part)) << name;
        EXPECT_EQ(message.find('\n'), std::string::npos) << name;
    }
}

TEST_F(Npy, NamesWhatIsNoFile) {
    EXPECT_THAT(message_of<InputError>([] { read_npy("/nowhere/a.npy"); }),
                AllOf(HasSubstr("cannot open '/nowhere/a.npy'"), HasSubstr("No such file")));
    EXPECT_THAT(message_of<InputError>([&] { read_npy(directory()); }),
                HasSubstr("is a directory"));
}

TEST_F(Npy, ASmallFileCannotAskForMuchMemory) {
    const auto path = write("a.npy", float32_npy("(2000000000000,)", three_floats));
    EXPECT_THAT(message_of<InputError>([&] { read_npy(path); }), HasSubstr("truncated"));
}

// Any bytes give values or an InputError; the sanitizers watch the rest.
TEST_F(Npy, SurvivesMutatedFiles) {
    const std::vector<std::string> seeds{float32_npy("(3,)", three_floats),
                                         compress(float32_npy("(3,)", three_floats))};
    std::mt19937 random(7);
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = seeds[random() % seeds.size()];
        const auto changes = 1 + random() % 4;
        for (unsigned i = 0; i < changes && !bytes.empty(); ++i) {
            const std::size_t at = random() % bytes.size();
            switch (random() % 4) {
                case 0:
                    bytes[at] = static_cast<char>(random());
                    break;
                case 1:
                    bytes.erase(at, 1 + random() % 8);
                    break;
                case 2:
                    bytes.insert(at, 1, "{}[](),:'0<>f"[random() % 13]);
                    break;
                default:
                    bytes.resize(at);
            }
        }
        const auto path = write("mutated.npy", bytes);
        try {
            read_npy(path);
        } catch (const InputError&) {
        }
    }
}

TEST(NpyDictionary, SurvivesEveryPrefixAndRandomText) {
    const std::string good =
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4,), }";
    EXPECT_EQ(parse_npy_dictionary(good).descr, "structured");
    for (std::size_t length = 0; length < good.size(); ++length)
        EXPECT_THROW(parse_npy_dictionary(std::string_view(good).substr(0, length)),
                     std::invalid_argument);
    std::mt19937 random(3);
    for (int round = 0; round < 20000; ++round) {
        std::string text = "{";
        for (unsigned i = random() % 30; i > 0; --i)
            text += "{}[](),:' \"descrshapefortran_orderTrueFalse0123456789"[random() % 53];
        try {
            parse_npy_dictionary(text);
        } catch (const std::invalid_argument&) {
        }
    }
}

}  // namespace
}  // namespace sumwire::apps
