/** The environment variables that show one card only to llama.cpp's backends. Metal has none: there is one card. */
export const deviceEnvironment = (device: number | undefined): Readonly<Record<string, string>> =>
  device === undefined ? {} : { CUDA_VISIBLE_DEVICES: String(device), GGML_VK_VISIBLE_DEVICES: String(device) };
