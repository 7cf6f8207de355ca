#include <stdio.h>

#include "ngcm.h"

int main(void) {
  const float x[3] = {1.0f, 0.0f, 1000.0f};
  float y[3];
  ngc_expf_array(x, y, 3);
  printf("%.9g %.9g %.9g\n", y[0], y[1], y[2]);
  printf("%.9g %.9g\n", ngc_logf(2.0f), ngc_logf(0.0f));
  return 0;
}
