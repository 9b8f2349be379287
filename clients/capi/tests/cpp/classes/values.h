// What the parts of the program `classes` print, and how.
#ifndef CAIRNDB_TESTS_CPP_VALUES_H_
#define CAIRNDB_TESTS_CPP_VALUES_H_

#include <cstdio>
#include <string>

// Prints a name and a value on a line; bytes that are not printable as hexadecimal numbers.
inline void Say(const char* name, const std::string& value) {
    std::printf("%s: ", name);
    for (const char c : value) {
        const unsigned byte = static_cast<unsigned char>(c);
        if (byte >= 32 && byte < 127) std::printf("%c", c);
        else std::printf("\\x%02x", byte);
    }
    std::printf("\n");
}

inline void Say(const char* name, unsigned long long value) { Say(name, std::to_string(value)); }

// Classes without a database: Status, WriteBatch, comparators, filters, caches, iterators.
void ShowPlain();

// Env::Default() and NewMemEnv, with files below `directory`.
void ShowEnvironments(const std::string& directory);

// Databases below `directory`.
void ShowDatabases(const std::string& directory);

#endif  // CAIRNDB_TESTS_CPP_VALUES_H_
