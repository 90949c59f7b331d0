const bytesPerMegabyte = 1e6;
const bytesPerGigabyte = 1e9;

/** Formats bytes for people: 12.3 MB below a gigabyte, 4.56 GB from there on. Decimal units: 1 MB = 1,000,000 bytes. */
export const formatBytes = (bytes: number, gigabyteDecimals = 2): string =>
  bytes < bytesPerGigabyte ? formatMegabytes(bytes) : `${(bytes / bytesPerGigabyte).toFixed(gigabyteDecimals)} GB`;

/** Formats bytes in megabytes, however many they are: 12.3 MB, 4560.0 MB. */
export const formatMegabytes = (bytes: number): string => `${(bytes / bytesPerMegabyte).toFixed(1)} MB`;

export const ceilMegabytes = (bytes: number): number => Math.ceil(bytes / bytesPerMegabyte);

/** Formats seconds for people, rounded up: 42 s, 3 min 5 s, 2 h 10 min. */
export function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
