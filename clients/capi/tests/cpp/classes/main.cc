// Calls LevelDB's C++ classes and prints what they return. Built once, with LevelDB's own library,
// and run twice: over LevelDB and over CairnDB. Both must print the same.
//
// Argument: an empty directory.
#include "values.h"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    ShowPlain();
    ShowEnvironments(argv[1]);
    ShowDatabases(argv[1]);
    return 0;
}
