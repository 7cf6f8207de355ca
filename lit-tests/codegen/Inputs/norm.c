#include <stdio.h>
#include <stdlib.h>

#include "norm.h"

int main(void) {
    float x[9] = {1, 2, 3, -10, 0, 10, 0.1f, 0.2f, 0.3f}, y[9];
    int64_t size = norm_workspace_size(3);
    void *workspace = malloc((size_t)size);
    printf("workspace of 3 rows: %d bytes\n", (int)size);
    int status = norm(x, 3, y, 3, workspace, size);
    for (int row = 0; row < 3; row++)
        printf("%d: [%.8g, %.8g, %.8g]\n", status, y[3 * row], y[3 * row + 1], y[3 * row + 2]);
    printf("another extent: %d\n", norm(x, 3, y, 2, workspace, size));
    printf("no workspace: %d\n", norm(x, 3, y, 3, NULL, 0));
    free(workspace);
    return status;
}
