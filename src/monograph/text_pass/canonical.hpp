// Texts and numbers as canonical JSON, of which hashes are made. Twin: monograph.values.content.
#pragma once
#include "text.hpp"

#include <string>

namespace monograph {

// Append a text as JSON has it, in UTF-8; half a surrogate pair as it stands.
void append_json(const Text &text, std::string &out);

} // namespace monograph
