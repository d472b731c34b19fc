/** Amounts are whole cents; a percentage of one is a whole number of cents again. */
export function percentOf(cents: number, percent: number): number {
  return Math.floor((cents * percent) / 100);
}

/** 123456 → "1,234.56" */
export function format(cents: number): string {
  const sign = cents < 0 ? "-" : "";
  const whole = Math.trunc(Math.abs(cents) / 100).toString();
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${sign}${grouped}.${(Math.abs(cents) % 100).toString().padStart(2, "0")}`;
}
