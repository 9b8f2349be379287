/* Tests of followers, over two processes. Arguments: an empty directory. Prints PASS. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { LIMIT_MS = 60000, ENTRIES = 2000 };

/* A child process, which reads commands from `in` and writes answers to `out`. */
typedef struct {
    pid_t process;
    int in[2];
    int out[2];
} child;

static void send_number(const int* pipe, uint64_t number) {
    CHECK(write(pipe[1], &number, sizeof number) == sizeof number);
}

/* Returns false at the end, when the other process has none of the pipe's ends open any more. */
static bool receive(const int* pipe, uint64_t* number) {
    ssize_t got = read(pipe[0], number, sizeof *number);
    CHECK(got == 0 || got == sizeof *number);
    return got != 0;
}

static uint64_t ask(child* to, uint64_t number) {
    send_number(to->in, number);
    CHECK(receive(to->out, &number));
    return number;
}

/* Must be called while this process has no database open: a child cannot use its parent's. */
static child begin(void (*body)(child* self)) {
    child made;
    CHECK(pipe(made.in) == 0 && pipe(made.out) == 0);
    made.process = fork();
    CHECK(made.process >= 0);
    bool is_child = made.process == 0;
    close(is_child ? made.in[1] : made.in[0]);
    close(is_child ? made.out[0] : made.out[1]);
    if (is_child) {
        body(&made);
        _exit(0);
    }
    return made;
}

/* Kills the child in the midst of whatever it does. */
static void end(child* of) {
    CHECK(kill(of->process, SIGKILL) == 0);
    int status;
    CHECK(waitpid(of->process, &status, 0) == of->process && WIFSIGNALED(status));
    close(of->in[1]);
    close(of->out[0]);
}

static cairndb_options* following(bool manual) {
    cairndb_options* options = cairndb_options_create();
    cairndb_options_set_follow(options, true);
    cairndb_options_set_manual_refresh(options, manual);
    cairndb_options_set_reader_lease(options, LIMIT_MS);
    return options;
}

static cairndb_db* follow(const char* name, bool manual) {
    cairndb_options* options = following(manual);
    cairndb_db* db = open_at(name, options);
    cairndb_options_destroy(options);
    return db;
}

static cairndb_db* writer(const char* name) {
    cairndb_options* options = cairndb_options_create();
    cairndb_options_set_reader_space_max(options, 1 << 30);
    /* The last call counts. */
    cairndb_options_set_follow(options, true);
    cairndb_options_set_follow(options, false);
    cairndb_db* db = open_at(name, options);
    cairndb_options_destroy(options);
    return db;
}

static uint64_t number_of(cairndb_db* db) {
    uint64_t number = UINT64_MAX;
    ok(cairndb_sequence_number(db, &number));
    return number;
}

static bool has_writer(cairndb_db* db) {
    bool found = false;
    ok(cairndb_has_writer(db, &found));
    return found;
}

static void put_number(cairndb_db* db, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%d", (int)number);
    put(db, "newest", text);
}

static bool has_number(cairndb_db* db, cairndb_snapshot* snapshot, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%d", (int)number);
    return has(db, snapshot, "newest", text);
}

/* Answers each number by the sequence number of its write. */
static void write_numbers(child* self) {
    cairndb_db* db = writer("written");
    uint64_t number;
    while (receive(self->in, &number)) {
        put_number(db, number);
        send_number(self->out, number_of(db));
    }
}

/* This process follows, and its writer is killed. */
static void a_writer_is_followed(void) {
    child of = begin(write_numbers);
    uint64_t newest = ask(&of, 0);
    cairndb_db* db = follow("written", false);
    cairndb_db* manual = follow("written", true);
    CHECK(has_writer(db) && has_writer(manual));
    bool reached = false;
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        newest = ask(&of, n);
        CHECK(has_number(db, NULL, n));
    }
    CHECK(number_of(db) == newest && number_of(manual) < newest);
    CHECK(has_number(manual, NULL, 0));
    ok(cairndb_wait_for(manual, newest, UINT64_MAX, &reached));
    CHECK(reached && has_number(manual, NULL, ENTRIES));
    ok(cairndb_wait_for(db, newest + 1, 1, &reached));
    CHECK(!reached);
    cairndb_snapshot* snapshot;
    ok(cairndb_snapshot_create(db, &snapshot));
    newest = ask(&of, ENTRIES + 1);
    CHECK(has_number(db, NULL, ENTRIES + 1) && has_number(db, snapshot, ENTRIES));
    CHECK(has_number(manual, NULL, ENTRIES));
    ok(cairndb_refresh(manual));
    CHECK(has_number(manual, NULL, ENTRIES + 1));

    end(&of);
    CHECK(!has_writer(db));
    CHECK(has_number(db, NULL, ENTRIES + 1) && has_number(db, snapshot, ENTRIES));
    ok(cairndb_snapshot_release(snapshot));
    /* Another writer, in this process. */
    cairndb_db* next = writer("written");
    CHECK(has_number(next, NULL, ENTRIES + 1) && has_writer(db));
    put_number(next, 7);
    ok(cairndb_wait_for(manual, number_of(next), LIMIT_MS, &reached));
    CHECK(reached && has_number(db, NULL, 7) && has_number(manual, NULL, 7));
    ok(cairndb_close(next));
    CHECK(has_number(db, NULL, 7) && !has_writer(db));
    ok(cairndb_close(manual));
    ok(cairndb_close(db));
}

/* Waits for each sequence number, and answers whether the number of the write is there. */
static void read_numbers(child* self) {
    uint64_t number;
    CHECK(receive(self->in, &number));
    cairndb_db* db = follow("read", false);
    cairndb_snapshot* snapshot;
    ok(cairndb_snapshot_create(db, &snapshot));
    do {
        bool reached = false;
        ok(cairndb_wait_for(db, number, LIMIT_MS, &reached));
        send_number(self->out, reached && has_number(db, NULL, number_of(db)));
    } while (receive(self->in, &number));
}

/* This process writes; one that follows is killed, with a snapshot. */
static void a_follower_is_killed(void) {
    child of = begin(read_numbers);
    cairndb_db* db = writer("read");
    for (int n = 0; n < ENTRIES; n++) {
        put_number(db, number_of(db) + 1);
        CHECK(ask(&of, number_of(db)) == 1);
    }
    end(&of);
    ok(cairndb_compact_range(db, NULL, 0, NULL, 0));
    put_number(db, 7);
    CHECK(has_number(db, NULL, 7));
    ok(cairndb_close(db));
}

static void errors(void) {
    cairndb_options* options = following(false);
    cairndb_db* db = NULL;
    cairndb_options_set_create_if_missing(options, true);
    CHECK(fails(cairndb_open(options, below("missing"), &db), CAIRNDB_ERROR_NOT_FOUND));
    cairndb_options_destroy(options);
    db = writer("errors");
    cairndb_db* follower = follow("errors", false);
    bool flag = true;
    CHECK(fails(cairndb_put(follower, "a", 1, "b", 1, 0), CAIRNDB_ERROR_READ_ONLY));
    CHECK(fails(cairndb_verify(below("errors"), NULL, NULL), CAIRNDB_ERROR_LOCKED));
    options = following(false);
    ok(cairndb_verify(below("errors"), options, NULL));
    cairndb_options_destroy(options);
    CHECK(fails(cairndb_refresh(db), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_wait_for(db, 0, 0, &flag), CAIRNDB_ERROR_INVALID_ARGUMENT) && !flag);
    flag = true;
    CHECK(fails(cairndb_has_writer(db, &flag), CAIRNDB_ERROR_INVALID_ARGUMENT) && !flag);
    CHECK(fails(cairndb_wait_for(follower, 0, 0, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_has_writer(follower, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_sequence_number(follower, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(fails(cairndb_refresh(NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    ok(cairndb_close(follower));
    CHECK(fails(cairndb_refresh(follower), CAIRNDB_ERROR_CLOSED));
    ok(cairndb_close(db));
    cairndb_options_set_follow(NULL, true);
    cairndb_options_set_manual_refresh(NULL, true);
    cairndb_options_set_reader_lease(NULL, 1);
    cairndb_options_set_reader_space_max(NULL, 1);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    a_writer_is_followed();
    a_follower_is_killed();
    errors();
    puts("PASS");
    return 0;
}
