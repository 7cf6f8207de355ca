#include <stdio.h>

#include "ngcm.h"

int main(void) {
  const float x[3] = {-1.0f, 0.0f, 1.0f};
  float y[3];
  ngc_tanhf_array(x, y, 3);
  printf("exp(1) = %.6g\n", (double)ngc_expf(1.0f));
  printf("pow(2, 0.5) = %.6g\n", (double)ngc_powf(2.0f, 0.5f));
  printf("tanh of -1, 0, 1: %.6g %.6g %.6g\n", (double)y[0], (double)y[1], (double)y[2]);
  return 0;
}
