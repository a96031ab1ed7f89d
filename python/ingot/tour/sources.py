"""The programs themselves: ordinary Python and NumPy, without a word of Ingot but `prange`."""

import math as m

import numpy as np

from ingot import prange


def quadratic_formula(a, b, c):
    return (-b + np.sqrt(b**2 - 4*a*c)) / (2*a)


def quadratic_formula_loop(a, b, c):
    n = a.shape[0]
    out = np.empty(n)
    for i in range(n):
        out[i] = (-b[i] + np.sqrt(b[i]**2 - 4*a[i]*c[i])) / (2*a[i])
    return out


def quadratic_formula_prange(a, b, c):
    n = a.shape[0]
    out = np.empty(n)
    for i in prange(n):
        out[i] = (-b[i] + np.sqrt(b[i]**2 - 4*a[i]*c[i])) / (2*a[i])
    return out


def sum_dict_values(d):
    out = 0.
    for v in d.values():
        out += v
    return out


def accumulate_if(arr):
    print(arr)
    if np.any(arr > 3):
        return np.sum(arr)
    else:
        return np.prod(arr)


def sum_greater_than_three(arr):
    return np.sum(arr[arr > 3.0])


do_sum = False


def accumulate(arr):
    if do_sum:
        return np.sum(arr)
    else:
        return np.prod(arr)


def matmul(A, B):
    return A @ B


def reduce(array):
    sum = 0
    for element in array:
        sum += element
    return sum


def copy(lhs, rhs):
    for i in range(len(lhs)):
        lhs[i] = rhs[i]


def scale(lhs, rhs, alpha):
    for i in range(len(lhs)):
        lhs[i] = alpha * rhs[i]


def add(lhs, rhs1, rhs2):
    for i in range(len(lhs)):
        lhs[i] = rhs1[i] + rhs2[i]


def triad(lhs, rhs1, rhs2, alpha):
    for i in range(len(lhs)):
        lhs[i] = rhs1[i] + alpha * rhs2[i]


def copy_prange(lhs, rhs):
    for i in prange(len(lhs)):
        lhs[i] = rhs[i]


def scale_prange(lhs, rhs, alpha):
    for i in prange(len(lhs)):
        lhs[i] = alpha * rhs[i]


def add_prange(lhs, rhs1, rhs2):
    for i in prange(len(lhs)):
        lhs[i] = rhs1[i] + rhs2[i]


def triad_prange(lhs, rhs1, rhs2, alpha):
    for i in prange(len(lhs)):
        lhs[i] = rhs1[i] + alpha * rhs2[i]


def axpy(a, x, y):
    for i in range(y.shape[0]):
        y[i] = a * x[i] + y[i]


def sine(lhs, rhs):
    for i in range(lhs.shape[0]):
        lhs[i] = m.sin(rhs[i])


def kuramoto_original(nstep, nnodes, ntime, state, input, param, drift, diffs, obsrv, nnz, delays, row, col,
                      weights, a, i_step_0):
    for tspeed in range(delays.shape[0] // nnz):
        for tcoupling in range(a.shape[0]):
            idp = tspeed * a.shape[0] + tcoupling
            for i_step in range(0, nstep):
                for i_node in range(0, nnodes):
                    idx = idp * nnodes + i_node
                    acc_j_node = 0
                    j_node_lo = row[i_node]
                    j_node_hi = row[i_node + 1]
                    for j_node in range(j_node_lo, j_node_hi):
                        acc_j_node = acc_j_node + weights[j_node]*m.sin(obsrv[((idp*ntime + ((i_step + i_step_0) % ntime) + -1*delays[tspeed*nnz + j_node])*nnodes + col[j_node])*2] + -1*obsrv[((idp*ntime + ((i_step + i_step_0) % ntime))*nnodes + i_node)*2])
                    input[idx] = a[tcoupling]*acc_j_node / nnodes
                    drift[idx] = param[idx] + input[idx]
                    diffs[idx] = 0.0
                    state[idx] = state[idx] + 0.1*drift[idx]
                    state[idx] = (state[idx] < 0)*(state[idx] + 6.283185307179586) + (state[idx] > 6.283185307179586)*(state[idx] - 6.283185307179586) + (state[idx] >= 0)*(state[idx] <= 6.283185307179586)*state[idx]
                    theta = state[idx]
                    obsrv[((idp*ntime + ((i_step + i_step_0) % ntime))*nnodes + i_node)*2 + 1] = m.sin(theta)
                    obsrv[((idp*ntime + ((i_step + i_step_0) % ntime))*nnodes + i_node)*2] = theta


def kuramoto_refactored(nstep, nnodes, ntime, state, input, param, drift, diffs, obsrv, nnz, delays, row, col,
                        weights, a, i_step_0):
    for tspeed in range(delays.shape[0] // nnz):
        for tcoupling in range(a.shape[0]):
            idp = tspeed * a.shape[0] + tcoupling
            for i_step in range(0, nstep):
                step = (idp * ntime + ((i_step + i_step_0) % ntime)) * nnodes
                for i_node in range(0, nnodes):
                    idx = idp * nnodes + i_node
                    acc_j_node = 0.0
                    theta_i = obsrv[(step + i_node) * 2]
                    for j_node in range(row[i_node], row[i_node + 1]):
                        dij = delays[tspeed*nnz + j_node]*nnodes
                        column = col[j_node]
                        wij = weights[j_node]
                        theta_j = obsrv[(step - dij + column) * 2]
                        acc_j_node += wij * m.sin(theta_j - theta_i)
                    input_tmp = a[tcoupling] * acc_j_node / nnodes
                    input[idx] = input_tmp
                    drift[idx] = param[idx] + input_tmp
                    diffs[idx] = 0.0
                    theta = state[idx] + 0.1*drift[idx]
                    theta = (theta < 0)*(theta + 6.283185307179586) + (theta > 6.283185307179586)*(theta - 6.283185307179586) + (theta >= 0)*(theta <= 6.283185307179586)*theta
                    state[idx] = theta
                    obsrv[(step + i_node) * 2 + 1] = m.sin(theta)
                    obsrv[(step + i_node) * 2] = theta


def sum2d(arr):
    M, N = arr.shape
    result = 0.0
    for i in range(M):
        for j in range(N):
            result += arr[i,j]
    return result


def square_matrix_mult(A, B, C):
    n = C.shape[0]
    for y in range(n):
        for x in range(n):
            cs = 0
            for i in range(n):
                cs += A[y, i] * B[i, x]
            C[y, x] = cs


def spca_unopt(Vd, epsilon=0.1, d=3, k=10):
    p = Vd.shape[0]
    numSamples = (4. / epsilon) ** d

    opt_x = np.zeros((p, 1))
    opt_v = -np.inf

    C = np.random.randn(d, numSamples)

    for i in np.arange(1, numSamples + 1):
        c = C[:, i - 1:i]
        c = c / np.linalg.norm(c)
        a = Vd.dot(c)

        I = np.argsort(a, axis=0)
        val = np.linalg.norm(a[I[-k:]])

        if val > opt_v:
            opt_v = val
            opt_x = np.zeros((p, 1))
            opt_x[I[-k:], :] = a[I[-k:], :] / val

    return opt_x


def spca_unopt_int(Vd, epsilon=0.1, d=3, k=10):
    p = Vd.shape[0]
    numSamples = int((4. / epsilon) ** d)

    opt_x = np.zeros((p, 1))
    opt_v = -np.inf

    C = np.random.randn(d, numSamples)

    for i in np.arange(1, numSamples + 1):
        c = C[:, i - 1:i]
        c = c / np.linalg.norm(c)
        a = Vd.dot(c)

        I = np.argsort(a, axis=0)
        val = np.linalg.norm(a[I[-k:]])

        if val > opt_v:
            opt_v = val
            opt_x = np.zeros((p, 1))
            opt_x[I[-k:]] = a[I[-k:], :] / val

    return opt_x


def jax_intro_ones(n):
    x = np.ones(shape=(n,n))
    y = 2 * np.zeros(n)

    z = np.dot(x, np.cos(y))
    y2 = np.linalg.solve(x, z)
    return y2


def jax_intro_print(x):
    print("Tracing right now!")
    return x*2


def jax_intro_switch(x, should_double):
    return (x*2) if should_double else x


def jax_intro_where(is_true, y_true, y_false):
    return np.where(is_true, y_true, y_false)


def f_true(x):
    return np.cos(x)


def f_false(x):
    return x + 1


def jax_intro_cond(x, is_true):
    f = f_true if is_true else f_false
    return f(x)


def f_body(row, y):
    return np.sum(row * y)


def jax_intro_double_loop(result, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            result[i,j] = f_body(x[i,j,:], y)
