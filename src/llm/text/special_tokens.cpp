#include "llm/text/special_tokens.h"

#include <algorithm>
#include <string>

namespace ingot {
namespace {

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string lowercase(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

std::string string_or_empty(const gguf::File& file, std::string_view key) {
    const auto text = file.get_string(key);
    return text ? std::string(*text) : std::string();
}

uint64_t edge_hash(uint32_t from, unsigned char byte) {
    return mix_bits((uint64_t{from} << 8) | byte);
}

}  // namespace

StripRules StripRules::from_gguf(const gguf::File& file, const Vocabulary& vocabulary) {
    StripRules rules;
    const std::string name = lowercase(string_or_empty(file, "general.name"));
    const std::string pre = string_or_empty(file, "tokenizer.ggml.pre");
    const auto strip_left_of = [&](std::string_view token) {
        const TokenId id = vocabulary.find(token);
        if (id == kNoToken) return;
        rules.left.assign(vocabulary.size(), false);
        rules.left[static_cast<size_t>(id)] = true;
    };
    if (pre.starts_with("jina-v2-")) {
        strip_left_of("<mask>");
    } else if (name.find("modern-bert") != std::string::npos) {
        strip_left_of("[MASK]");
    } else if (name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos) {
        // Phi-3: every special token but these three.
        rules.right.assign(vocabulary.size(), true);
        for (const std::string_view token : {"<unk>", "<s>", "<|endoftext|>"}) {
            const TokenId id = vocabulary.find(token);
            if (id != kNoToken) rules.right[static_cast<size_t>(id)] = false;
        }
    }
    return rules;
}

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary, StripRules rules) : rules_(std::move(rules)) {
    std::vector<TokenId> special;
    size_t name_bytes = 0;
    for (TokenId id = 0; id < static_cast<TokenId>(vocabulary.size()); ++id) {
        if (!vocabulary.is_named(id) && vocabulary.kind(id) != TokenKind::kUserDefined) continue;
        if (vocabulary.text(id).empty()) continue;
        special.push_back(id);
        name_bytes += vocabulary.text(id).size();
    }
    edges_by_key_.reset(name_bytes);
    for (const TokenId id : special) insert(vocabulary.text(id), id);
}

void SpecialTokens::insert(std::string_view name, TokenId id) {
    starts_[static_cast<unsigned char>(name[0])] = true;
    uint32_t node = 0;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        uint32_t next = child_of(node, byte);
        if (next == 0) {
            const auto index = static_cast<uint32_t>(edges_.size());
            edges_.push_back({node, byte, kNoToken});
            edges_by_key_.insert(edge_hash(node, byte), index, [](uint32_t) { return false; });
            next = index + 1;
        }
        node = next;
    }
    edges_[node - 1].token = id;
}

uint32_t SpecialTokens::child_of(uint32_t node, unsigned char byte) const {
    const uint32_t index = edges_by_key_.find(edge_hash(node, byte), [&](uint32_t candidate) {
        return edges_[candidate].from == node && edges_[candidate].byte == byte;
    });
    return index == ProbeTable::kNone ? 0 : index + 1;
}

TokenId SpecialTokens::longest_match(const Vocabulary& vocabulary, std::string_view text, bool named,
                                     EncodeWork& work) const {
    TokenId longest = kNoToken;
    uint32_t node = 0;
    for (const char c : text) {
        node = child_of(node, static_cast<unsigned char>(c));
        ++work.special_steps;
        if (node == 0) break;
        const TokenId token = edges_[node - 1].token;
        if (token != kNoToken && (named || !vocabulary.is_named(token))) longest = token;
    }
    return longest;
}

std::vector<Fragment> SpecialTokens::split(const Vocabulary& vocabulary, std::string_view text, bool named,
                                           EncodeWork& work) const {
    std::vector<Fragment> fragments;
    size_t begin = 0;  // of the text that no fragment holds yet
    size_t at = 0;
    while (at < text.size()) {
        TokenId token = kNoToken;
        if (starts_[static_cast<unsigned char>(text[at])]) {
            token = longest_match(vocabulary, text.substr(at), named, work);
        }
        if (token == kNoToken) {
            ++at;
            continue;
        }
        const auto index = static_cast<size_t>(token);
        size_t end = at;
        if (!rules_.left.empty() && rules_.left[index]) {
            while (end > begin && is_space(text[end - 1])) --end;
        }
        if (end > begin) fragments.push_back({text.substr(begin, end - begin)});
        fragments.push_back({{}, token});
        at += vocabulary.text(token).size();
        if (!rules_.right.empty() && rules_.right[index]) {
            while (at < text.size() && is_space(text[at])) ++at;
        }
        begin = at;
    }
    if (begin < text.size()) fragments.push_back({text.substr(begin)});
    return fragments;
}

}  // namespace ingot
