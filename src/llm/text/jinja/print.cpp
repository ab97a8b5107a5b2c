#include "llm/text/jinja/print.h"

#include <charconv>
#include <cmath>

#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/unicode.h"

namespace ingot::jinja {
namespace {

class Printer {
  public:
    explicit Printer(Heap& heap) : heap_(heap) {}

    Result<void> print(const Value& value) {
        const Nesting nesting(depth_, heap_.limits().max_depth, "a printed value is");
        INGOT_TRY(nesting.ok);
        INGOT_TRY(heap_.step());
        if (out_.size() > heap_.limits().max_output_bytes) {
            return fail(ErrorKind::kLimit, "a printed value is longer than {} bytes",
                        heap_.limits().max_output_bytes);
        }
        switch (value.kind()) {
            case Kind::kList:
                return print_sequence(value.sequence().items, "[", "]");
            case Kind::kTuple:
                return print_sequence(value.sequence().items, "(",
                                      value.sequence().items.size() == 1 ? ",)" : ")");
            case Kind::kDict:
                return print_dict(value.dict());
            case Kind::kView:
                return print_view(value.view());
            case Kind::kNamespace:
                return print_namespace(value.name_space());
            default:
                out_ += scalar(value);
                return {};
        }
    }

    std::string take() { return std::move(out_); }

  private:
    Result<void> print_sequence(const Values& items, std::string_view open, std::string_view close) {
        out_ += open;
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) out_ += ", ";
            INGOT_TRY(print(items[i]));
        }
        out_ += close;
        return {};
    }

    Result<void> print_dict(const Dict& dict) {
        out_ += '{';
        for (size_t i = 0; i < dict.entries.size(); ++i) {
            if (i > 0) out_ += ", ";
            INGOT_TRY(print(dict.entries[i].key));
            out_ += ": ";
            INGOT_TRY(print(dict.entries[i].value));
        }
        out_ += '}';
        return {};
    }

    Result<void> print_view(const View& view) {
        static constexpr std::string_view kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
        out_ += kNames[static_cast<size_t>(view.part)];
        for (size_t i = 0; i < view.dict->entries.size(); ++i) {
            const Entry& entry = view.dict->entries[i];
            if (i > 0) out_ += ", ";
            if (view.part == View::Part::kItems) out_ += '(';
            if (view.part != View::Part::kValues) INGOT_TRY(print(entry.key));
            if (view.part == View::Part::kItems) out_ += ", ";
            if (view.part != View::Part::kKeys) INGOT_TRY(print(entry.value));
            if (view.part == View::Part::kItems) out_ += ')';
        }
        out_ += "])";
        return {};
    }

    Result<void> print_namespace(const Namespace& names) {
        out_ += "<Namespace {";
        for (size_t i = 0; i < names.names.size(); ++i) {
            if (i > 0) out_ += ", ";
            out_ += repr_text(names.names[i].first) + ": ";
            INGOT_TRY(print(names.names[i].second));
        }
        out_ += "}>";
        return {};
    }

    static std::string scalar(const Value& value) {
        switch (value.kind()) {
            case Kind::kUndefined:
                return "Undefined";
            case Kind::kNone:
                return "None";
            case Kind::kBool:
                return value.as_int() ? "True" : "False";
            case Kind::kInt:
                return std::to_string(value.as_int());
            case Kind::kFloat:
                return format_float(value.as_real());
            case Kind::kText:
                return value.text().markup ? "Markup(" + repr_text(value.bytes()) + ")"
                                           : repr_text(value.bytes());
            case Kind::kRange: {
                const Range& range = value.range();
                return range.step == 1
                           ? fmt::format("range({}, {})", range.start, range.stop)
                           : fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
            }
            case Kind::kMacro:
                return fmt::format("<Macro {}>", repr_text(value.macro().declaration->name));
            case Kind::kLoop:
                return fmt::format("<LoopContext {}/{}>", value.loop().index + 1, value.loop().items.size());
            default:
                return fmt::format("<{} object>", type_name(value));
        }
    }

    Heap& heap_;
    std::string out_;
    uint32_t depth_ = 0;
};

}  // namespace

Result<std::string> repr(Heap& heap, const Value& value) {
    Printer printer(heap);
    INGOT_TRY(printer.print(value));
    return printer.take();
}

Result<std::string> to_text(Heap& heap, const Value& value) {
    if (value.is_text()) return std::string(value.bytes());
    if (value.is_undefined()) return std::string();
    return repr(heap, value);
}

Result<Value> to_text_value(Heap& heap, const Value& value) {
    if (value.is_text()) return value;
    INGOT_ASSIGN(const std::string text, to_text(heap, value));
    return heap.text(text);
}

std::string repr_text(std::string_view text) {
    const bool double_quotes = text.find('\'') != text.npos && text.find('"') == text.npos;
    const char32_t quote = double_quotes ? U'"' : U'\'';
    std::string out(1, static_cast<char>(quote));
    for (size_t i = 0; i < text.size();) {
        const char32_t code = next_char(text, i);
        if (code == quote || code == '\\') {
            out += '\\';
            out += static_cast<char>(code);
        } else if (code == '\n') {
            out += "\\n";
        } else if (code == '\r') {
            out += "\\r";
        } else if (code == '\t') {
            out += "\\t";
        } else if (char_is(code, CharClass::kPrintable)) {
            append_char(out, code);
        } else if (code <= 0xFF) {
            out += fmt::format("\\x{:02x}", static_cast<uint32_t>(code));
        } else if (code <= 0xFFFF) {
            out += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
        } else {
            out += fmt::format("\\U{:08x}", static_cast<uint32_t>(code));
        }
    }
    out += static_cast<char>(quote);
    return out;
}

// As Python's repr: the shortest digits that read back the same, exponents from 1e16 on and below 1e-4.
std::string format_float(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    const std::string_view scientific(buffer, static_cast<size_t>(end - buffer));
    int exponent = 0;
    const size_t mark = scientific.find('e');
    std::from_chars(scientific.data() + mark + (scientific[mark + 1] == '+' ? 2 : 1), end, exponent);
    if (exponent < -4 || exponent >= 16) return std::string(scientific);
    const auto fixed_end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
    std::string fixed(buffer, static_cast<size_t>(fixed_end - buffer));
    return fixed.find('.') == fixed.npos ? fixed + ".0" : fixed;
}

std::string_view type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::kMissing:
            return "missing";
        case Kind::kUndefined:
            return "Undefined";
        case Kind::kNone:
            return "NoneType";
        case Kind::kBool:
            return "bool";
        case Kind::kInt:
            return "int";
        case Kind::kFloat:
            return "float";
        case Kind::kText:
            return value.text().markup ? "Markup" : "str";
        case Kind::kList:
            return "list";
        case Kind::kTuple:
            return "tuple";
        case Kind::kDict:
            return "dict";
        case Kind::kRange:
            return "range";
        case Kind::kView:
            switch (value.view().part) {
                case View::Part::kKeys:
                    return "dict_keys";
                case View::Part::kValues:
                    return "dict_values";
                case View::Part::kItems:
                    return "dict_items";
            }
            return "dict_items";
        case Kind::kIterator:
            return "generator";
        case Kind::kNamespace:
            return "Namespace";
        case Kind::kFunction:
            return "function";
        case Kind::kMacro:
            return "Macro";
        case Kind::kLoop:
            return "LoopContext";
        case Kind::kCycler:
            return "Cycler";
        case Kind::kJoiner:
            return "Joiner";
    }
    return "object";
}

std::string_view object_type(const Value& value) {
    switch (value.kind()) {
        case Kind::kNone:
            return "None";
        case Kind::kBool:
            return "bool object";
        case Kind::kInt:
            return "int object";
        case Kind::kFloat:
            return "float object";
        case Kind::kText:
            return "str object";
        case Kind::kList:
            return "list object";
        case Kind::kTuple:
            return "tuple object";
        case Kind::kDict:
            return "dict object";
        case Kind::kNamespace:
            return "namespace object";
        default:
            return type_name(value);
    }
}

std::string undefined_message(const Undefined& undefined) {
    if (!undefined.hint.empty()) return std::string(undefined.hint);
    const std::string name = undefined.name.is_text()       ? repr_text(undefined.name.bytes())
                             : undefined.name.is_integral() ? std::to_string(undefined.name.as_int())
                                                            : std::string(type_name(undefined.name));
    if (undefined.owner.empty()) return name + " is undefined";
    if (!undefined.name.is_text()) return fmt::format("{} has no element {}", undefined.owner, name);
    return fmt::format("'{}' has no attribute {}", undefined.owner, name);
}

Failure undefined_error(const Value& value) {
    return fail(ErrorKind::kInvalidArgument, "{}", undefined_message(value.undefined()));
}

}  // namespace ingot::jinja
