#include "tile/tuner/database.h"

#include <sqlite3.h>

namespace ingot::tile {
namespace {

constexpr int kSchema = 1;
constexpr int kBusyMilliseconds = 5000;

constexpr const char* kTables = R"(
create table keys (id integer primary key, kernel text not null, kernel_hash text not null, target text not null,
  shapes text not null, strides text not null, options text not null, compiler text not null,
  unique (kernel_hash, target, shapes, strides, options, compiler));
create table runs (id integer primary key, key integer not null references keys, device text not null,
  device_compiler text not null, ranking text not null, validated_by text not null, budget_seconds real not null,
  tolerance real not null);
create table candidates (id integer primary key, run integer not null references runs, what text not null,
  plan text, basis text not null, score real not null, status text not null, reason text not null,
  search_value real);
create table replays (run integer not null references runs, candidate integer not null references candidates,
  round integer not null, position integer not null, value real not null);
create table plans (key integer primary key references keys, run integer not null references runs,
  candidate integer not null references candidates, what text not null, plan text not null, device text not null,
  ranking text not null, replay_median real not null, planner_median real not null);
)";

// One statement: values are bound in order, then rows are stepped through.
class Query {
  public:
    Query(sqlite3* db, const char* sql) { status_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
    ~Query() { sqlite3_finalize(statement_); }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    Query& text(std::string_view value) {
        if (status_ == SQLITE_OK)
            status_ =
                sqlite3_bind_text(statement_, ++bound_, value.data(), int(value.size()), SQLITE_TRANSIENT);
        return *this;
    }
    Query& number(double value) {
        if (status_ == SQLITE_OK) status_ = sqlite3_bind_double(statement_, ++bound_, value);
        return *this;
    }
    Query& integer(int64_t value) {
        if (status_ == SQLITE_OK) status_ = sqlite3_bind_int64(statement_, ++bound_, value);
        return *this;
    }
    Query& none() {
        ++bound_;  // unbound is null
        return *this;
    }
    // SQLITE_ROW, SQLITE_DONE or an error.
    int step() {
        if (status_ == SQLITE_OK || status_ == SQLITE_ROW) status_ = sqlite3_step(statement_);
        return status_;
    }
    std::string text_at(int column) const {
        const unsigned char* p = sqlite3_column_text(statement_, column);
        return p == nullptr ? "" : reinterpret_cast<const char*>(p);
    }
    double number_at(int column) const { return sqlite3_column_double(statement_, column); }
    int64_t integer_at(int column) const { return sqlite3_column_int64(statement_, column); }

  private:
    sqlite3_stmt* statement_ = nullptr;
    int status_ = SQLITE_OK, bound_ = 0;
};

class SqliteDatabase final : public TuningDatabase {
  public:
    SqliteDatabase(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
    ~SqliteDatabase() override { sqlite3_close(db_); }
    SqliteDatabase(const SqliteDatabase&) = delete;
    SqliteDatabase& operator=(const SqliteDatabase&) = delete;

    Result<void> prepare() {
        sqlite3_busy_timeout(db_, kBusyMilliseconds);
        // A row for each candidate is written at once; waiting for the disk each time would take longer than
        // trying it.
        INGOT_TRY(execute("pragma synchronous = off"));
        INGOT_ASSIGN(const int64_t version, integer("pragma user_version"));
        if (version == kSchema) return {};
        INGOT_ASSIGN(const int64_t tables, integer("select count(*) from sqlite_master"));
        if (version != 0 || tables != 0)
            return fail(ErrorKind::kCorrupt, "{}: no tuning database of this version ({}); it has version {}",
                        path_, kSchema, version);
        INGOT_TRY(execute(kTables));
        return execute(fmt::format("pragma user_version = {}", kSchema).c_str());
    }

    Result<int64_t> add_run(const TuningKey& key, const TuningRun& run) override {
        INGOT_ASSIGN(const int64_t id, key_id(key));
        Query q(db_,
                "insert into runs (key, device, device_compiler, ranking, validated_by, budget_seconds, "
                "tolerance) values (?, ?, ?, ?, ?, ?, ?)");
        q.integer(id).text(run.device).text(run.device_compiler).text(run.ranking).text(run.validated_by);
        return inserted(q.number(run.budget_seconds).number(run.tolerance));
    }

    Result<int64_t> add_candidate(int64_t run, const TuningCandidate& c) override {
        Query q(db_,
                "insert into candidates (run, what, plan, basis, score, status, reason, search_value) values "
                "(?, ?, ?, ?, ?, ?, ?, ?)");
        q.integer(run).text(c.what);
        c.plan.empty() ? q.none() : q.text(c.plan);
        q.text(c.basis).number(c.score).text(kTuningEndNames[size_t(c.end)]).text(c.reason);
        return inserted(c.search_value ? q.number(*c.search_value) : q.none());
    }

    Result<void> add_replay(int64_t run, const TuningReplay& r) override {
        Query q(db_, "insert into replays (run, candidate, round, position, value) values (?, ?, ?, ?, ?)");
        return done(q.integer(run).integer(r.candidate).integer(r.round).integer(r.position).number(r.value));
    }

    Result<void> set_plan(const TuningKey& key, int64_t run, int64_t candidate, const TunedPlan& p) override {
        INGOT_ASSIGN(const int64_t id, key_id(key));
        Query q(db_,
                "insert or replace into plans (key, run, candidate, what, plan, device, ranking, "
                "replay_median, planner_median) values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
        q.integer(id).integer(run).integer(candidate).text(p.what).text(p.plan).text(p.device);
        return done(q.text(p.ranking).number(p.replay_median).number(p.planner_median));
    }

    Result<TunedPlan> plan_of(const TuningKey& key) override {
        Query q(
            db_,
            "select plans.what, plan, device, ranking, replay_median, planner_median from plans join keys "
            "on plans.key = keys.id where kernel_hash = ? and target = ? and shapes = ? and strides = ? "
            "and options = ? and compiler = ?");
#define X(name) q.text(key.name);
        INGOT_TILE_TUNING_KEY(X)
#undef X
        const int status = q.step();
        if (status == SQLITE_DONE) return no_plan(key);
        if (status != SQLITE_ROW) return failure();
        return TunedPlan{q.text_at(0), q.text_at(1),   q.text_at(2),
                         q.text_at(3), q.number_at(4), q.number_at(5)};
    }

  private:
    Failure failure() const { return fail(ErrorKind::kIo, "{}: {}", path_, sqlite3_errmsg(db_)); }
    Result<void> execute(const char* sql) {
        if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
        return {};
    }
    Result<int64_t> integer(const char* sql) {
        Query q(db_, sql);
        if (q.step() != SQLITE_ROW) return failure();
        return q.integer_at(0);
    }
    Result<void> done(Query& q) {
        if (q.step() != SQLITE_DONE) return failure();
        return {};
    }
    Result<int64_t> inserted(Query& q) {
        INGOT_TRY(done(q));
        return int64_t(sqlite3_last_insert_rowid(db_));
    }

    Result<int64_t> key_id(const TuningKey& key) {
        Query add(
            db_,
            "insert or ignore into keys (kernel, kernel_hash, target, shapes, strides, options, compiler) "
            "values (?, ?, ?, ?, ?, ?, ?)");
        Query find(
            db_,
            "select id from keys where kernel_hash = ? and target = ? and shapes = ? and strides = ? and "
            "options = ? and compiler = ?");
        add.text(key.kernel);
#define X(name) add.text(key.name), find.text(key.name);
        INGOT_TILE_TUNING_KEY(X)
#undef X
        INGOT_TRY(done(add));
        if (find.step() != SQLITE_ROW) return failure();
        return find.integer_at(0);
    }

    // The first part of the key, in order, that no plan has.
    Failure no_plan(const TuningKey& key) {
        std::string condition = "1", what = "this combination";
        std::vector<std::string> values;
#define X(name)                                                                                              \
    if (what == "this combination") {                                                                        \
        condition += " and " #name " = ?";                                                                   \
        values.push_back(key.name);                                                                          \
        Query q(db_,                                                                                         \
                ("select count(*) from plans join keys on plans.key = keys.id where " + condition).c_str()); \
        for (const std::string& v : values) q.text(v);                                                       \
        if (q.step() == SQLITE_ROW && q.integer_at(0) == 0) what = fmt::format(#name " '{}'", key.name);     \
    }
        INGOT_TILE_TUNING_KEY(X)
#undef X
        return fail(ErrorKind::kNotFound, "{}: no plan of {} for {}; `ingot tile tune` makes one", path_,
                    key.kernel, what);
    }

    sqlite3* db_;
    std::string path_;
};

}  // namespace

Result<std::unique_ptr<TuningDatabase>> TuningDatabase::open(const std::string& path, bool create) {
    sqlite3* db = nullptr;
    const int status = sqlite3_open_v2(path.c_str(), &db,
                                       SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), nullptr);
    if (status != SQLITE_OK) {
        const Failure error = fail(ErrorKind::kIo, "{}: {}", path, sqlite3_errstr(status));
        sqlite3_close(db);
        return error;
    }
    auto out = std::make_unique<SqliteDatabase>(db, path);
    INGOT_TRY(out->prepare());
    return out;
}

}  // namespace ingot::tile
