/** Prints a number as `%.<digits>g` does in C. */
export function numberText(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 10 ** Math.min(digits, 15)) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const [mantissa = '', power = ''] = value.toExponential(digits - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits)
    return withoutZeros(value.toFixed(digits - 1 - exponent));
  const sign = exponent < 0 ? '-' : '+';
  return `${withoutZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}
