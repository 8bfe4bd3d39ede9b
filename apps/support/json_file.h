// The rows of a benchmark as a JSON list in a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sumwire::apps {

class JsonFile {
  public:
    // An empty path keeps nothing. Throws std::invalid_argument, with the remedy, if the file
    // cannot be written: before a long run, not after it.
    explicit JsonFile(std::string path);

    void add(nlohmann::ordered_json row);
    // Writes the list. Throws std::runtime_error if the disk is full and the like.
    void save() const;

  private:
    bool write() const;

    std::string path_;
    nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace sumwire::apps
