#include "llm/text/jinja/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/print.h"
#include "llm/text/jinja/unicode.h"
#include "llm/text/utf8.h"

namespace ingot::jinja {
namespace {

class JsonWriter {
  public:
    JsonWriter(Heap& heap, const JsonOptions& options) : heap_(heap), options_(options) {}

    Result<std::string> run(const Value& value) {
        INGOT_TRY(write(value));
        INGOT_TRY(heap_.claim(out_.size()));
        return std::move(out_);
    }

  private:
    Result<void> write(const Value& value) {
        const Nesting nesting(depth_, heap_.limits().max_depth, "a value for tojson is");
        INGOT_TRY(nesting.ok);
        INGOT_TRY(heap_.step());
        if (out_.size() > heap_.limits().max_output_bytes) INGOT_TRY(heap_.claim(out_.size()));
        switch (value.kind()) {
            case Kind::kText:
                quote(value.bytes());
                return {};
            case Kind::kList:
            case Kind::kTuple:
                return write_list(value.sequence().items);
            case Kind::kDict:
                return write_dict(value.dict());
            default:
                break;
        }
        INGOT_ASSIGN(const std::string text, scalar(value));
        out_ += text;
        return {};
    }

    static Result<std::string> scalar(const Value& value) {
        switch (value.kind()) {
            case Kind::kNone:
                return "null";
            case Kind::kBool:
                return value.as_int() ? "true" : "false";
            case Kind::kInt:
                return std::to_string(value.as_int());
            case Kind::kFloat:
                if (std::isnan(value.as_real())) return "NaN";
                if (std::isinf(value.as_real())) return value.as_real() < 0 ? "-Infinity" : "Infinity";
                return format_float(value.as_real());
            default:
                return fail(ErrorKind::kInvalidArgument, "Object of type {} is not JSON serializable",
                            type_name(value));
        }
    }

    void break_line() {
        if (!options_.indent) return;
        out_ += '\n';
        for (uint32_t i = 0; i < level_; ++i) out_ += *options_.indent;
    }

    Result<void> write_list(const Values& items) {
        if (items.empty()) return out_ += "[]", Result<void>{};
        out_ += '[';
        ++level_;
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out_ += options_.item_separator;
            break_line();
            INGOT_TRY(write(items[i]));
        }
        --level_;
        break_line();
        out_ += ']';
        return {};
    }

    Result<void> write_dict(const Dict& dict) {
        if (dict.entries.empty()) return out_ += "{}", Result<void>{};
        std::vector<size_t> order(dict.entries.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        if (options_.sort_keys) {
            Values keys = heap_.values();
            for (const Entry& entry : dict.entries) keys.push_back(entry.key);
            INGOT_ASSIGN(order, sorted_order(heap_, keys, false));
        }
        out_ += '{';
        ++level_;
        for (size_t i = 0; i < order.size(); ++i) {
            const Entry& entry = dict.entries[order[i]];
            if (i > 0) out_ += options_.item_separator;
            break_line();
            INGOT_TRY(write_key(entry.key));
            out_ += options_.key_separator;
            INGOT_TRY(write(entry.value));
        }
        --level_;
        break_line();
        out_ += '}';
        return {};
    }

    Result<void> write_key(const Value& key) {
        if (key.is_text()) return quote(key.bytes()), Result<void>{};
        if (!key.is_number() && !key.is(Kind::kNone)) {
            return fail(ErrorKind::kInvalidArgument, "keys must be str, int, float, bool or None, not {}",
                        type_name(key));
        }
        INGOT_ASSIGN(const std::string text, scalar(key));
        quote(text);
        return {};
    }

    void quote(std::string_view text) {
        out_ += '"';
        for (size_t i = 0; i < text.size();) {
            const size_t start = i;
            const char32_t code = next_char(text, i);
            switch (code) {
                case '"':
                    out_ += "\\\"";
                    break;
                case '\\':
                    out_ += "\\\\";
                    break;
                case '\n':
                    out_ += "\\n";
                    break;
                case '\r':
                    out_ += "\\r";
                    break;
                case '\t':
                    out_ += "\\t";
                    break;
                case '\b':
                    out_ += "\\b";
                    break;
                case '\f':
                    out_ += "\\f";
                    break;
                default:
                    if (code < 0x20 || (options_.ensure_ascii && code >= 0x7F)) {
                        escape(code);
                    } else {
                        out_ += text.substr(start, i - start);
                    }
            }
        }
        out_ += '"';
    }

    void escape(char32_t code) {
        if (code < 0x10000) {
            out_ += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
            return;
        }
        const uint32_t rest = static_cast<uint32_t>(code) - 0x10000;
        out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }

    Heap& heap_;
    const JsonOptions& options_;
    std::string out_;
    uint32_t depth_ = 0;
    uint32_t level_ = 0;
};

Result<Value> borrow_text(Heap& heap, std::string_view text) {
    if (const auto bad = find_invalid_utf8(text)) {
        return fail(ErrorKind::kInvalidArgument,
                    "a text given to the chat template isn't valid UTF-8 at byte {}", *bad);
    }
    return heap.borrowed(text);
}

}  // namespace

Result<std::string> to_json(Heap& heap, const Value& value, const JsonOptions& options) {
    return JsonWriter(heap, options).run(value);
}

Result<Value> from_json(Heap& heap, const nlohmann::ordered_json& json, uint32_t depth) {
    if (depth > heap.limits().max_depth) {
        return fail(ErrorKind::kLimit, "the chat template's variables are nested more than {} deep",
                    heap.limits().max_depth);
    }
    switch (json.type()) {
        case nlohmann::json::value_t::null:
            return Value::none();
        case nlohmann::json::value_t::boolean:
            return Value::boolean(json.get<bool>());
        case nlohmann::json::value_t::number_integer:
            return Value::integer(json.get<int64_t>());
        case nlohmann::json::value_t::number_float:
            return Value::real(json.get<double>());
        case nlohmann::json::value_t::string:
            return borrow_text(heap, json.get_ref<const std::string&>());
        case nlohmann::json::value_t::number_unsigned: {
            const auto number = json.get<uint64_t>();
            if (number > static_cast<uint64_t>(INT64_MAX)) {
                return fail(ErrorKind::kInvalidArgument, "the integer {} is over 64 bits with sign", number);
            }
            return Value::integer(static_cast<int64_t>(number));
        }
        case nlohmann::json::value_t::array: {
            Values items = heap.values();
            items.reserve(json.size());
            for (const auto& item : json) {
                INGOT_ASSIGN(const Value value, from_json(heap, item, depth + 1));
                items.push_back(value);
            }
            return heap.list(std::move(items));
        }
        case nlohmann::json::value_t::object: {
            std::pmr::vector<Entry> entries(heap.arena());
            entries.reserve(json.size());
            for (const auto& [key, item] : json.items()) {
                INGOT_ASSIGN(const Value name, borrow_text(heap, key));
                INGOT_ASSIGN(const Value value, from_json(heap, item, depth + 1));
                entries.push_back({name, value});
            }
            return heap.dict(std::move(entries));
        }
        default:
            return fail(ErrorKind::kInvalidArgument, "binary JSON values aren't accepted");
    }
}

}  // namespace ingot::jinja
