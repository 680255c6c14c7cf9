/* Loops of exponentials and logarithms: GCC computes several at once by the vector functions of glibc's libm,
   where the loop is in a function marked VECTORS. Other compilers compute one after another. */
#ifndef VECTORS_H
#define VECTORS_H

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && defined(__x86_64__)
#if __GLIBC_PREREQ(2, 35) /* since then also of log1p */
/* const: errno is not looked at. */
#define HAS_VECTORS __attribute__((simd("notinbranch"), const))
extern double exp(double) HAS_VECTORS;
extern double log(double) HAS_VECTORS;
extern double log1p(double) HAS_VECTORS;
#define VECTORS __attribute__((optimize("O3,no-trapping-math"), target_clones("avx2", "default")))
#endif
#endif
#ifndef VECTORS
#define VECTORS
#endif

#endif
