/* Reports of an open and of a repair. Arguments: an empty directory. Prints PASS. */
#include "check.h"

/* Whether the report has a finding of this kind in a file whose name starts so. */
static bool finds(const cairndb_repair_report* report, cairndb_finding_kind kind, const char* file) {
    cairndb_repair_finding found;
    size_t at = 0;
    for (; cairndb_repair_report_finding(report, at, &found); at++) {
        CHECK(found.reason != NULL && (found.first_key == NULL) >= (found.first_key_len == 0));
        bool same = found.file != NULL && strncmp(found.file, file, strlen(file)) == 0;
        if (found.kind == kind && same && *found.reason != 0) return true;
    }
    CHECK(at == cairndb_repair_report_summary(report).findings);
    return false;
}

static void repairs(void) {
    cairndb_options* options = cairndb_options_create();
    cairndb_db* db = open_at("damaged", options);
    put(db, "granite", "grey");
    ok(cairndb_close(db));
    snprintf(buffer[0], sizeof buffer[0], "%s/damaged/CURRENT", path);
    FILE* file = fopen(buffer[0], "w");
    CHECK(file != NULL && fputs("nonsense", file) >= 0 && fclose(file) == 0);
    cairndb_repair_report* report = NULL;
    ok(cairndb_repair(below("damaged"), below("repaired"), options, CAIRNDB_REPAIR_DRY_RUN,
                      &report));
    cairndb_repair_summary summary = cairndb_repair_report_summary(report);
    CHECK(summary.dry_run && summary.keys == 1 && summary.bytes == 11);
    char* text = cairndb_repair_report_text(report);
    char* json = cairndb_repair_report_json(report);
    CHECK(text != NULL && *text != 0 && strstr(json, "\"dry_run\":true") != NULL);
    free(text);
    free(json);
    CHECK(finds(report, CAIRNDB_FINDING_HARMLESS, "CURRENT"));
    CHECK(!finds(report, CAIRNDB_FINDING_LOST, "CURRENT"));
    CHECK(!cairndb_repair_report_finding(report, 0, NULL));
    cairndb_repair_report_destroy(report);

    ok(cairndb_repair(below("damaged"), below("repaired"), options, 0, NULL));
    db = open_at("repaired", options);
    CHECK(has(db, NULL, "granite", "grey"));
    ok(cairndb_close(db));
    CHECK(fails(cairndb_repair(below("damaged"), below("repaired"), options, 0, &report),
                CAIRNDB_ERROR_INVALID_ARGUMENT));
    CHECK(report == NULL && cairndb_repair_report_text(report) == NULL);
    CHECK(!cairndb_repair_report_summary(report).complete);
    cairndb_repair_report_destroy(NULL);
    cairndb_options_destroy(options);
}

/* A foreign file with a name as the database's is left alone, and named. */
static void notes(void) {
    cairndb_options* options = cairndb_options_create();
    ok(cairndb_close(open_at("noted", options)));
    snprintf(buffer[0], sizeof buffer[0], "%s/noted/20261127.log", path);
    FILE* file = fopen(buffer[0], "w");
    CHECK(file != NULL && fputs("09:00 up and running", file) >= 0 && fclose(file) == 0);
    cairndb_db* db = open_at("noted", options);
    cairndb_open_notes* found = NULL;
    ok(cairndb_get_open_notes(db, &found));
    cairndb_open_note note;
    CHECK(cairndb_open_notes_at(found, 0, &note) && !cairndb_open_notes_at(found, 1, &note));
    CHECK(note.kind == CAIRNDB_NOTE_SKIPPED && strcmp(note.file, "20261127.log") == 0);
    CHECK(*note.reason != 0 && note.offset == 0);
    CHECK(fails(cairndb_get_open_notes(db, NULL), CAIRNDB_ERROR_INVALID_ARGUMENT));
    ok(cairndb_close(db));
    /* The notes outlive the database. */
    CHECK(strcmp(note.file, "20261127.log") == 0);
    cairndb_open_notes_destroy(found);
    CHECK(fails(cairndb_get_open_notes(db, &found), CAIRNDB_ERROR_CLOSED) && found == NULL);
    cairndb_options_destroy(options);
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    snprintf(path, sizeof path, "%s", argv[1]);
    repairs();
    notes();
    puts("PASS");
    return 0;
}
