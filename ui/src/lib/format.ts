/** Numbers and times as people read them. All durations come in microseconds. */

export function duration(us: number | null | undefined): string {
  if (us === null || us === undefined || !Number.isFinite(us)) return "–";
  if (us < 0) return `−${duration(-us)}`;
  if (us < 999.5) return `${Math.round(us)} µs`;
  if (us < 999_500) return `${three(us / 1e3)} ms`;
  if (us < 59_950_000) return `${three(us / 1e6)} s`;
  const seconds = Math.round(us / 1e6);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Three digits that count, without zeros at the end. */
function three(value: number): string {
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return value.toFixed(digits).replace(/\.?0+$/, (zeros) => (digits === 0 ? zeros : ""));
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return Math.round(value).toLocaleString("en-GB").replace(/,/g, "\u2009");
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let scaled = value;
  let unit = 0;
  while (scaled >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? scaled : three(scaled)} ${units[unit]}`;
}

export function share(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  const percent = (100 * part) / whole;
  return percent < 0.1 ? "< 0.1 %" : `${percent < 10 ? percent.toFixed(1).replace(/\.0$/, "") : Math.round(percent)} %`;
}

/** The time of day with milliseconds, with the date before it unless it is today's. */
export function clock(us: number, now: Date = new Date()): string {
  const at = new Date(us / 1000);
  if (Number.isNaN(at.getTime())) return "–";
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  const isToday = at.toDateString() === now.toDateString();
  const millis = `.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return isToday ? time + millis : `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}

export function ago(us: number | null | undefined, nowMs: number = Date.now()): string {
  if (us === null || us === undefined) return "never";
  const seconds = Math.max(0, Math.round(nowMs / 1000 - us / 1e6));
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** What is left until a time, in minutes and seconds. */
export function left(ms: number): string {
  if (ms <= 0) return "expired";
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
  return `${Math.floor(seconds / 3600)} h ${pad(Math.floor((seconds % 3600) / 60))} min`;
}

/** Steps of an axis: 1, 2 or 5 times a power of ten, at least `steps` of them wide apart. */
export function step(span: number, steps: number): number {
  if (!(span > 0) || steps < 1) return 1;
  const rough = span / steps;
  const power = 10 ** Math.floor(Math.log10(rough));
  const ratio = rough / power;
  return power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
}

export function short(id: string): string {
  return id.length > 10 ? id.slice(0, 8) : id;
}

/**
 * Text of others made fit for eyes: characters that cannot be seen, or that turn the direction of a line, are written as
 * what they are, so that nobody reads something else than is there.
 */
export function plain(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g,
    (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
