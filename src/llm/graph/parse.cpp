#include <cctype>
#include <charconv>

#include <fmt/ranges.h>

#include "llm/graph/attrs.h"
#include "llm/graph/text.h"
#include "llm/graph/verify.h"

namespace ingot::graph {
namespace {

// One line of graph text, read from left to right. A failed expectation throws, so that the grammar below
// reads straight through; parse() turns it into an Error and nothing leaves this file.
struct SyntaxError {
    std::string message;
};

class Line {
  public:
    explicit Line(std::string_view text) : rest_(text) { skip_space(); }

    bool at_end() const { return rest_.empty(); }
    bool accept(std::string_view token) {
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        skip_space();
        return true;
    }
    void expect(std::string_view token) {
        if (!accept(token)) throw SyntaxError{fmt::format("expected '{}' before '{}'", token, rest_)};
    }
    std::string_view word() {
        size_t n = 0;
        while (n < rest_.size() && (std::isalnum(uint8_t(rest_[n])) ||
                                    std::string_view("_-.+").find(rest_[n]) != std::string_view::npos))
            ++n;
        if (n == 0) throw SyntaxError{fmt::format("expected a word before '{}'", rest_)};
        return take(n);
    }
    std::string string() {
        expect_quote();
        const size_t n = rest_.find('"');
        if (n == rest_.npos) throw SyntaxError{"a string without its closing quote"};
        std::string text(rest_.substr(0, n));
        rest_.remove_prefix(n + 1);
        skip_space();
        return text;
    }
    template <typename T>
    T number() {
        const std::string_view text = word();
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size()) {
            throw SyntaxError{fmt::format("'{}' is not a number that fits here", text)};
        }
        return value;
    }
    size_t one_of(std::span<const std::string_view> names) {
        const std::string_view text = word();
        for (size_t i = 0; i < names.size(); ++i) {
            if (names[i] == text) return i;
        }
        throw SyntaxError{fmt::format("'{}'; one of {} is accepted", text, fmt::join(names, " "))};
    }
    NodeId node() {
        expect("%");
        return NodeId(number<uint32_t>());
    }
    std::vector<uint32_t> list() {
        std::vector<uint32_t> items;
        expect("[");
        do {
            items.push_back(number<uint32_t>());
        } while (accept(","));
        expect("]");
        return items;
    }

  private:
    void expect_quote() {
        if (!rest_.starts_with('"')) throw SyntaxError{fmt::format("expected a string before '{}'", rest_)};
        rest_.remove_prefix(1);
    }
    std::string_view take(size_t n) {
        const std::string_view text = rest_.substr(0, n);
        rest_.remove_prefix(n);
        skip_space();
        return text;
    }
    void skip_space() {
        while (!rest_.empty() && std::isspace(uint8_t(rest_[0]))) rest_.remove_prefix(1);
    }

    std::string_view rest_;
};

class Parser {
  public:
    void line(Line& in) {
        if (in.accept("graph ")) return header(in);
        if (in.accept("backends ")) {
            while (!in.at_end()) backends_.emplace_back(in.word());
        } else if (in.accept("weight ")) {
            weight(in);
        } else if (in.accept("output ")) {
            outputs_.push_back(in.node());
        } else {
            node(in);
        }
    }

    Graph finish() && {
        return {params_, std::move(weights_), std::move(nodes_), std::move(outputs_), std::move(backends_)};
    }

  private:
    void header(Line& in) {
        in.expect("tokens=");
        params_.tokens = in.number<uint32_t>();
        in.expect("sequences=");
        params_.sequences = in.number<uint32_t>();
        in.expect("outputs=");
        params_.outputs = in.number<uint32_t>();
        in.expect("kv=");
        const std::string_view format = in.word();
        if (!kv::format_from_name(format)) throw SyntaxError{fmt::format("unknown KV format '{}'", format)};
        params_.kv_format = *kv::format_from_name(format);
        in.expect("window=");
        params_.window = WindowMode(in.one_of(kWindowModeNames));
        in.expect("fuse=");
        params_.fuse = {false, false, false};
        if (in.accept("none")) return;
        do {
            params_.fuse.*kFuseFlags[in.one_of(kFuseFlagNames)] = true;
        } while (in.accept(","));
    }

    void weight(Line& in) {
        Weight w;
        w.name = in.string();
        const std::string_view type = in.word();
        if (!quant_type_from_name(type)) throw SyntaxError{fmt::format("unknown storage type '{}'", type)};
        w.type = *quant_type_from_name(type);
        const std::vector<uint32_t> shape = in.list();
        if (shape.size() != 2) throw SyntaxError{"a weight has [rows, cols]"};
        w.rows = shape[0];
        w.cols = shape[1];
        if (const auto added = weights_->add(std::move(w)); !added) throw SyntaxError{added.error().message};
    }

    void node(Line& in) {
        if (in.node() != NodeId(uint32_t(nodes_.size())))
            throw SyntaxError{fmt::format("%{} is the next node", nodes_.size())};
        in.expect("=");
        const std::string_view name = in.word();
        const auto op = op_from_name(name);
        if (!op) throw SyntaxError{fmt::format("unknown op '{}'", name)};
        Node n;
        n.op = *op;
        n.attrs = default_attrs(*op);
        n.inputs.resize(traits(*op).inputs.size);
        n.weights.resize(traits(*op).weights.size);
        operands(in, n);
        if (in.accept("{")) attributes(in, n);
        in.expect(":");
        n.type = DType(in.one_of(kDTypeNames));
        const std::vector<uint32_t> dims = in.list();
        if (dims.size() > n.shape.dims.size()) throw SyntaxError{"more than three dimensions"};
        n.shape.rank = uint8_t(dims.size());
        std::copy(dims.begin(), dims.end(), n.shape.dims.begin());
        if (in.accept("@")) n.backend = backend(in.word());
        nodes_.push_back(std::move(n));
    }

    void operands(Line& in, Node& n) {
        in.expect("(");
        if (in.accept(")")) return;
        do {
            operand(in, n);
        } while (in.accept(","));
        in.expect(")");
    }

    void operand(Line& in, Node& n) {
        const std::string_view role = in.word();
        in.expect("=");
        for (size_t i = 0; i < n.inputs.size(); ++i) {
            if (traits(n.op).inputs[i].name == role) return void(n.inputs[i] = in.node());
        }
        for (size_t i = 0; i < n.weights.size(); ++i) {
            if (traits(n.op).weights[i].name != role) continue;
            const std::string name = in.string();
            n.weights[i] = weights_->find(name);
            if (!n.weights[i].valid()) throw SyntaxError{fmt::format("weight \"{}\" was not declared", name)};
            return;
        }
        throw SyntaxError{fmt::format("{} has no operand '{}'", to_string(n.op), role)};
    }

    static void attributes(Line& in, Node& n) {
        while (!in.accept("}")) {
            const std::string_view name = in.word();
            in.expect("=");
            bool found = false;
            const auto set = [&](std::string_view field, auto& value) {
                if (field != name) return;
                found = true;
                using T = std::remove_reference_t<decltype(value)>;
                if constexpr (std::is_enum_v<T>) {
                    value = T(in.one_of(names_of(value)));
                } else if constexpr (std::is_same_v<T, std::string>) {
                    value = in.string();
                } else {
                    value = in.number<T>();
                }
            };
            std::visit([&](auto& attrs) { fields(attrs, set); }, n.attrs);
            if (!found) throw SyntaxError{fmt::format("{} has no attribute '{}'", to_string(n.op), name)};
        }
    }

    BackendId backend(std::string_view name) const {
        for (uint32_t i = 0; i < backends_.size(); ++i) {
            if (backends_[i] == name) return BackendId(i);
        }
        throw SyntaxError{fmt::format("backend '{}' was not declared", name)};
    }

    GraphParams params_;
    std::shared_ptr<WeightTable> weights_ = std::make_shared<WeightTable>();
    std::vector<Node> nodes_;
    std::vector<NodeId> outputs_;
    std::vector<std::string> backends_;
};

}  // namespace

Result<Graph> parse(std::string_view text) {
    Parser parser;
    for (int number = 1; !text.empty(); ++number) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        Line in(line.substr(0, std::min(line.find(';'), line.size())));
        if (in.at_end()) continue;
        try {
            parser.line(in);
            if (!in.at_end()) throw SyntaxError{"text after the end of the statement"};
        } catch (const SyntaxError& error) {
            return fail(ErrorKind::kCorrupt, "graph text, line {}: {}: {}", number, error.message, line);
        }
    }
    Graph graph = std::move(parser).finish();
    if (auto valid = verify(graph); !valid) {
        return Failure(Error{ErrorKind::kCorrupt, valid.error().describe(), "graph text"});
    }
    return graph;
}

}  // namespace ingot::graph
