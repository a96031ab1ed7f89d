#ifndef INGOT_STANDALONE_LIBRARY_H
#define INGOT_STANDALONE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/// The interface between the C source that `python -m ingot build` writes and the runtime in the library. C99
/// and C++. A library has a runtime of its own, whose symbols are hidden: two libraries share nothing.

#ifdef __cplusplus
extern "C" {
#endif

/// A parameter or a result. A number is given by its address. An array is given by the address of a struct of
/// a pointer to its elements, `void* owner`, then lengths and strides (bytes), `rank` of each.
struct ingot_value {
  const char* name;
  uint8_t dtype;       ///< a base::DType
  int32_t rank;        ///< of an array; -1: it is a number
  char order;          ///< `C` or `F`: elements without gaps, in that order; `A`: any strides
  uint8_t is_written;  ///< of a parameter: whether elements are written to
};

/// A function's code of one kind.
struct ingot_code {
  void* entry;                ///< a runtime::Entry; null: there is none
  const unsigned char* info;  ///< an encoded runtime::ObjectInfo
  uint64_t info_size;
};

/// A function, for one level of CPUs.
struct ingot_version {
  struct ingot_code apart;     ///< of arguments that share no memory that is written to
  struct ingot_code together;  ///< of any; there is none: such arguments are refused
};

struct ingot_function {
  const struct ingot_value* parameters;
  const struct ingot_value* results;
  uint32_t parameter_count;
  uint32_t result_count;
  const struct ingot_version* versions;  ///< by the library's levels
};

/// A level of x86-64's psABI, and the features of base/cpu.h that it is.
struct ingot_level {
  int number;
  const char* features;
};

struct ingot_library {
  const char* name;
  const struct ingot_level* levels;  ///< ascending
  uint32_t level_count;
};

/// Words of `work` that an array parameter of this rank takes: a runtime::Buffer and a view.
#define INGOT_ARRAY_WORDS(rank) (8 + 2 * (rank))

/// Calls a function: `slots` holds the addresses of its parameters, then those of its results, and is
/// changed; `work` has INGOT_ARRAY_WORDS for each array parameter. Returns 0, or 1 + the number of a
/// base::ExceptionKind; then results are as they were, and the thread's last error has the reason.
int32_t ingot_standalone_call(const struct ingot_library* library, const struct ingot_function* function,
                              void** slots, int64_t* work);

/// Refuses a null pointer for an argument of this name: the status of it.
int32_t ingot_standalone_null(const char* name);

/// Releases an array's `owner`, once for each result that has one. Null is allowed.
void ingot_standalone_free(void* owner);

/// The parts of the thread's last error: never null.
const char* ingot_standalone_error(void);          ///< kind, message and location
const char* ingot_standalone_error_kind(void);     ///< "ZeroDivisionError"
const char* ingot_standalone_error_message(void);  ///< "division by zero"
const char* ingot_standalone_error_file(void);     ///< empty: no location is known
int32_t ingot_standalone_error_line(void);
const char* ingot_standalone_error_function(void);  ///< of the Python source, that has the location

/// The level whose code runs, chosen once: the highest that this CPU has, or what INGOT_CPU_LEVEL gives (2, 3
/// or 4). 0: this CPU has none of them, or not that one; calls then fail.
int32_t ingot_standalone_level(const struct ingot_library* library);

/// How many threads the loops of the library's functions may use: INGOT_NUM_THREADS, or one a CPU.
int32_t ingot_standalone_threads(void);
void ingot_standalone_set_threads(int32_t count);

/// Gives memory of freed arrays, which is kept for the next ones, back to the system.
void ingot_standalone_trim(void);

#ifdef __cplusplus
}
#endif

#endif
