export const usual: object;
export const hard: object;
export const last: object;
