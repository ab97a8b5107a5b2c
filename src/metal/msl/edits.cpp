#include "metal/msl/edits.h"

namespace ingot::metal::msl {

void Edits::erase(Range range) {
    for (size_t i = range.begin; i < range.end; ++i) erase(i);
}

void Edits::drop(Range range) {
    changes_.erase(changes_.lower_bound(range.begin), changes_.lower_bound(range.end));
    erase(range);
}

bool Edits::is_erased(size_t index) const {
    const auto found = changes_.find(index);
    return found != changes_.end() && found->second.replacement && found->second.replacement->empty();
}

void Edits::append(std::string& text, size_t index) const {
    const std::string_view own = (*tokens_)[index].text;
    const auto found = changes_.find(index);
    if (found == changes_.end()) {
        text += own;
        return;
    }
    const Change& change = found->second;
    text += change.before;
    text += change.replacement ? std::string_view(*change.replacement) : own;
    text += change.after;
}

std::string Edits::text(Range range) const {
    std::string text;
    for (size_t i = range.begin; i < range.end; ++i) {
        if (i > range.begin && !(*tokens_)[i].leading.empty()) text += ' ';
        append(text, i);
    }
    return text;
}

std::string Edits::print() const {
    std::string text;
    for (size_t i = 0; i <= tokens_->size(); ++i) {
        const auto found = changes_.find(i);
        const bool replaced = found != changes_.end() && found->second.leading;
        text += replaced ? std::string_view(*found->second.leading) : (*tokens_)[i].leading;
        append(text, i);
    }
    return text;
}

}  // namespace ingot::metal::msl
