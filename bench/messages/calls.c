/* The programs of bench.messages in C, on a communicator of mpi4py's, given by the address of its handle. */
#include <mpi.h>
#include <stdlib.h>

void there_and_back(const MPI_Comm *comm, double *x, long n, long rounds) {
  int rank;
  MPI_Comm_rank(*comm, &rank);
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) {
      MPI_Send(x, (int)n, MPI_DOUBLE, 1, 0, *comm);
      MPI_Recv(x, (int)n, MPI_DOUBLE, 1, 0, *comm, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(x, (int)n, MPI_DOUBLE, 0, 0, *comm, MPI_STATUS_IGNORE);
      MPI_Send(x, (int)n, MPI_DOUBLE, 0, 0, *comm);
    }
  }
}

void allreduce(const MPI_Comm *comm, const double *x, double *y, long n, long rounds) {
  for (long i = 0; i < rounds; ++i) MPI_Allreduce(x, y, (int)n, MPI_DOUBLE, MPI_SUM, *comm);
}

double pi(const MPI_Comm *comm, long n, long steps) {
  int rank, size;
  MPI_Comm_rank(*comm, &rank);
  MPI_Comm_size(*comm, &size);
  double total = 0;
  for (long step = 0; step < steps; ++step) {
    double part = 0, whole = 0;
    for (long i = step * n + rank; i < (step + 1) * n; i += size) {
      const double x = ((double)i + 0.5) / (double)(steps * n);
      part += 4.0 / (1.0 + x * x);
    }
    MPI_Allreduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, *comm);
    total += whole;
  }
  return total / (double)(steps * n);
}

static void smooth(const double *restrict u, double *restrict v, long from, long to, long columns) {
  for (long i = from; i < to; ++i)
    for (long j = 1; j < columns - 1; ++j)
      v[i * columns + j] = 0.25 * (u[(i - 1) * columns + j] + u[(i + 1) * columns + j] + u[i * columns + j - 1] + u[i * columns + j + 1]);
}

/* Rows are divided among ranks; the first and the last are those of neighbours. */
void heat(const MPI_Comm *comm, double *u, double *v, long rows, long columns, long steps) {
  int rank, size;
  MPI_Comm_rank(*comm, &rank);
  MPI_Comm_size(*comm, &size);
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  const int n = (int)columns;
  for (long step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    MPI_Irecv(u, n, MPI_DOUBLE, up, 0, *comm, &requests[0]);
    MPI_Irecv(u + (rows - 1) * columns, n, MPI_DOUBLE, down, 0, *comm, &requests[1]);
    MPI_Isend(u + columns, n, MPI_DOUBLE, up, 0, *comm, &requests[2]);
    MPI_Isend(u + (rows - 2) * columns, n, MPI_DOUBLE, down, 0, *comm, &requests[3]);
    smooth(u, v, 2, rows - 2, columns);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    smooth(u, v, 1, 2, columns);
    smooth(u, v, rows - 2, rows - 1, columns);
    double *const swapped = u;
    u = v;
    v = swapped;
  }
}
