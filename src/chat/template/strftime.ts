/** The function `strftime_now` of chat templates, with the time fixed, so that a prompt's prefix never changes. */
export const strftimeAt =
  (time: Date) =>
  (format: string): string =>
    format.replace(/%([YmdBbAaHMS])/g, (_, directive: string) => {
      const localize = (options: Intl.DateTimeFormatOptions): string => time.toLocaleString('en-GB', options);
      const twoDigits = (value: number): string => String(value).padStart(2, '0');
      const directives: Readonly<Record<string, string>> = {
        Y: String(time.getFullYear()),
        m: twoDigits(time.getMonth() + 1),
        d: twoDigits(time.getDate()),
        B: localize({ month: 'long' }),
        b: localize({ month: 'short' }),
        A: localize({ weekday: 'long' }),
        a: localize({ weekday: 'short' }),
        H: twoDigits(time.getHours()),
        M: twoDigits(time.getMinutes()),
        S: twoDigits(time.getSeconds()),
      };
      return directives[directive] ?? '';
    });
