// `ingot chat`: a conversation turn by turn, with the model's own chat template. Questions come from stdin,
// one a line; only answers go to stdout, so that it works in a pipe as well as in a terminal.
#include "llm/engine/chat.h"

#include <cstdio>
#include <iostream>

#include <unistd.h>

#include "base/output_file.h"
#include "cli/chat_commands.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/model_path.h"
#include "cli/stream.h"

namespace ingot::cli {
namespace {

struct ChatFlags {
    ModelFlags model;
    SamplingFlags sampling;
    std::string system;
    std::optional<std::string> template_file, session;
    std::vector<std::string> variables;
    uint32_t max_tokens = 0;
    bool stats = false;
};

// "enable_thinking=false": the value is JSON, or text if it is none.
Result<nlohmann::ordered_json> template_variables(const std::vector<std::string>& assignments) {
    auto variables = nlohmann::ordered_json::object();
    for (const std::string& assignment : assignments) {
        const size_t equals = assignment.find('=');
        if (equals == 0 || equals == assignment.npos) {
            return fail(ErrorKind::kInvalidArgument, "--var '{}': NAME=VALUE expected", assignment);
        }
        const std::string name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
        if (name == "messages" || name == "add_generation_prompt") {
            return fail(ErrorKind::kInvalidArgument, "--var '{}': the conversation sets {} itself",
                        assignment, name);
        }
        auto json = nlohmann::ordered_json::parse(value, nullptr, false);
        variables[name] = json.is_discarded() ? nlohmann::ordered_json(value) : std::move(json);
    }
    return variables;
}

class Chat {
  public:
    Chat(const ChatFlags& flags, LoadedModel& model, ChatSession& session, const SamplerOptions& sampler)
        : flags_(flags), model_(model), session_(session), sampler_(sampler) {}

    Result<void> run() {
        if (interactive_)
            fmt::print(stderr, "/help lists the commands; Ctrl-C stops an answer, at the prompt it quits.\n");
        for (std::string line; read_line(line);) {
            if (line.empty()) continue;
            const auto command = parse_chat_command(line);
            if (command && command->kind == ChatCommand::kQuit) return {};
            const auto done = command ? execute(*command) : Result<void>(Failure(command.error()));
            if (done) continue;
            // A mistake in one turn doesn't end a conversation, but a script has to learn of it.
            if (!interactive_ || done.error().kind == ErrorKind::kIo) return done;
            fmt::print(stderr, "{}\n", done.error().describe());
        }
        if (interactive_) fmt::print(stderr, "\n");
        return {};
    }

  private:
    bool read_line(std::string& line) const {
        if (interactive_) fmt::print(stderr, "> ");
        if (!std::getline(std::cin, line)) return false;
        if (line.ends_with('\r')) line.pop_back();
        return true;
    }

    Result<void> execute(const ChatCommand& command) {
        std::vector<ChatMessage> before;
        switch (command.kind) {
            case ChatCommand::kAsk:
                before = session_.messages();
                session_.add_user(command.text);
                return answer_last(std::move(before));
            case ChatCommand::kRegenerate:
                before = session_.messages();
                if (session_.take_back_answer()) return answer_last(std::move(before));
                fmt::print(stderr, "There is no answer to make again yet.\n");
                return {};
            case ChatCommand::kClear:
                session_.clear();
                return {};
            case ChatCommand::kSystem:
                session_.set_system(command.text);
                return {};
            case ChatCommand::kHelp:
                fmt::print(stderr, "{}", chat_help());
                return {};
            case ChatCommand::kQuit:
                return {};
        }
        return {};
    }

    // Without an answer the conversation is again what it was before.
    Result<void> answer_last(std::vector<ChatMessage> before) {
        const Interrupt interrupt;
        const GenerateOptions options = stream_to_stdout(flags_.max_tokens, flags_.sampling, interrupt);
        const auto generation = answer(*model_.engine, model_.tokenizer, sampler_, session_, options);
        const bool answered = generation && (session_.messages().back().role == "assistant");
        if (!answered) session_.restore(std::move(before));
        if (!generation) return Failure(generation.error());
        std::fputc('\n', stdout);
        if (std::fflush(stdout) != 0)
            return fail(ErrorKind::kIo, "can't write the answer to standard output");
        report(*generation);
        if (!interactive_ && generation->finish == FinishReason::kCancelled) {
            return fail(ErrorKind::kCancelled, "stopped by Ctrl-C");
        }
        return {};
    }

    void report(const Generation& generation) const {
        if (generation.finish == FinishReason::kContextFull) {
            fmt::print(stderr, "The context of {} tokens is full: /clear, or start with a larger --ctx.\n",
                       model_.engine->context());
        }
        if (!flags_.stats) return;
        fmt::print(stderr,
                   "prompt: {} new of {} tokens, {:.1f} tokens/s; generated: {} tokens, {:.1f} tokens/s\n",
                   generation.prompt_tokens, model_.engine->num_tokens() - generation.decode_steps,
                   generation.prompt_rate(), generation.tokens.size(), generation.decode_rate());
    }

    const ChatFlags& flags_;
    LoadedModel& model_;
    ChatSession& session_;
    Sampler sampler_;
    const bool interactive_ = isatty(STDIN_FILENO) != 0;
};

// The conversation of a session file; whether it may be written over at the end.
Result<bool> resume_conversation(Engine& engine, ChatSession& session, const std::string& path) {
    if (const auto loaded = load_chat(engine, session, path); !loaded)
        return start_afresh("chat", loaded.error());
    fmt::print(stderr, "session: {} messages, {} tokens\n", session.messages().size(), engine.num_tokens());
    return true;
}

Result<void> chat(const ChatFlags& flags) {
    INGOT_ASSIGN(const SamplerOptions sampler, flags.sampling.options());
    INGOT_ASSIGN(const auto variables, template_variables(flags.variables));
    std::string template_source;
    if (flags.template_file) {
        INGOT_ASSIGN(template_source, read_text(*flags.template_file));
        if (template_source.empty())
            return fail(ErrorKind::kInvalidArgument, "{} is empty", *flags.template_file);
    }
    // A template that can't be used is said before the weights are loaded.
    INGOT_ASSIGN(const std::string path, resolve_model(flags.model.model));
    INGOT_ASSIGN(const gguf::File file, gguf::File::open(path));
    INGOT_ASSIGN(ChatTemplate chat_template, load_chat_template(file, template_source));
    // So is a session that can't be written.
    if (flags.session) INGOT_TRY(OutputFile::create(*flags.session));
    INGOT_ASSIGN(LoadedModel model, load_model(flags.model));
    ChatSession session = open_chat(std::move(chat_template), model.tokenizer, variables);
    bool saves = flags.session.has_value();
    if (saves) {
        INGOT_ASSIGN(saves, resume_conversation(*model.engine, session, *flags.session));
    }
    if (!flags.system.empty()) session.set_system(flags.system);
    const auto done = Chat(flags, model, session, sampler).run();
    print_profile(*model.engine);
    if (!saves) return done;
    auto saved = save_chat(*model.engine, session, *flags.session);
    if (done) return saved;
    if (!saved) fmt::print(stderr, "ingot chat: {}\n", saved.error().describe());
    return done;
}

}  // namespace

Action add_chat(CLI::App& app) {
    auto flags = std::make_shared<ChatFlags>();
    add_model_flags(app, flags->model, false);
    app.add_option("--system", flags->system, "What the model is told before the conversation")
        ->option_text("TEXT");
    app.add_option("--template", flags->template_file, "Use this chat template instead of the model's own")
        ->option_text("FILE");
    app.add_option("--var", flags->variables, "A variable of the template, e.g. enable_thinking=false")
        ->option_text("NAME=VALUE")
        ->allow_extra_args(false);
    app.add_option("-n,--max-tokens", flags->max_tokens,
                   "At most N tokens an answer; 0: until the model ends it or the context is full")
        ->check(whole_number(0, 1 << 30))
        ->option_text("N [0]");
    app.add_option("--session", flags->session,
                   "Go on with the conversation in this file, and keep it there at the end")
        ->option_text("FILE");
    app.add_flag("--stats", flags->stats, "After each answer, its rates on stderr");
    add_sampling_flags(app, flags->sampling);
    return [flags] { return chat(*flags); };
}

}  // namespace ingot::cli
