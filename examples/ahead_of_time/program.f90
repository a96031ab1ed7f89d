! Calls the functions of signals.py. Prints numbers by their bits, so that other programs can compare them.
program calls
  use, intrinsic :: iso_c_binding
  use signals
  implicit none

  real(c_double), target :: samples(6) = [1.0d0, 2.5d0, -0.5d0, 4.0d0, 3.25d0, 0.125d0]
  ! signals.py sees table(i + 1, j + 1) as table[i, j].
  real(c_double), target :: table(2, 3) = reshape([3.0d0, 0.1d0, 4.0d0, 0.2d0, 12.0d0, 0.2d0], [2, 3])
  type(signals_float64_1d) :: x, backwards, smooth, empty
  type(signals_complex128_1d) :: turned
  real(c_double), pointer :: smoothed(:)
  complex(c_double_complex), pointer :: points(:)
  real(c_double) :: moment, longest
  integer(c_int64_t) :: shorter
  integer(c_int32_t) :: status
  integer :: i

  x = signals_float64_1d_of(samples)
  call check(signals_moment(x, 3_c_int64_t, moment))
  call print_bits("moment", moment)

  backwards = x
  backwards%data = c_loc(samples(6))
  backwards%lengths = 3
  backwards%strides = -2 * x%strides
  call check(signals_moment(backwards, 2_c_int64_t, moment))
  call print_bits("backwards", moment)

  call check(signals_smoothed(x, smooth))
  call c_f_pointer(smooth%data, smoothed, smooth%lengths)
  do i = 1, size(smoothed)
    call print_bits("smoothed", smoothed(i))
  end do
  call signals_free(smooth%owner)

  call check(signals_normalize(signals_float64_2d_of(table), 1.0d0, shorter, longest))
  print '(a, i0)', "shorter ", shorter
  call print_bits("longest", longest)
  do i = 1, 3
    call print_bits("row", table(1, i))
  end do

  call check(signals_rotated(x, (0.6d0, 0.8d0), turned))
  call c_f_pointer(turned%data, points, turned%lengths)
  call print_bits("turned", real(points(6), c_double))
  call print_bits("turned", aimag(points(6)))
  call signals_free(turned%owner)

  empty = signals_float64_1d_of(samples(1:0))
  status = signals_moment(empty, 2_c_int64_t, moment)
  print '(a, i0, 4a)', "status ", status, " ", signals_text(signals_last_error_kind()), ": ", &
    signals_text(signals_last_error_message())

contains

  subroutine check(status)
    integer(c_int32_t), intent(in) :: status
    if (status /= 0) error stop "a function has raised"
  end subroutine

  subroutine print_bits(name, number)
    character(*), intent(in) :: name
    real(c_double), intent(in) :: number
    character(16) :: digits
    integer :: k
    write (digits, '(z16.16)') transfer(number, 0_c_int64_t)
    do k = 1, 16
      if (digits(k:k) >= 'A') digits(k:k) = achar(iachar(digits(k:k)) + 32)
    end do
    print '(3a)', name, " ", digits
  end subroutine
end program
