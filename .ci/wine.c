// Go needs the function ProcessPrng of bcryptprimitives.dll, which Wine 8 lacks. In addition, package testing of Go removes
// directories with a call that Wine 8 does not have, and gives up. On Windows before version 10 the same call reports that
// it is unknown, and Go uses the older call. So this library lets it report the same to test programs (*.test.exe).
// Lethe itself gets Wine's answer.
#include <windows.h>
#include <string.h>

__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, unsigned long long length) {
	while (length > 0) {
		unsigned long part = length > 1 << 20 ? 1 << 20 : (unsigned long)length;
		if (!SystemFunction036(data, part)) return 0;
		data += part;
		length -= part;
	}
	return 1;
}

typedef LONG(__stdcall *set_information)(HANDLE, void *, void *, ULONG, ULONG);
static set_information original;

static LONG __stdcall set(HANDLE file, void *status, void *info, ULONG length, ULONG class) {
	if (class == 64) return 0xC0000003L; // FileDispositionInformationEx, STATUS_INVALID_INFO_CLASS
	return original(file, status, info, length, class);
}

// DllMain replaces the start of NtSetInformationFile by a jump to set. The function has no relative addresses, so that a
// copy of it works.
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved) {
	static const char suffix[] = ".test.exe";
	char name[MAX_PATH];
	DWORD n = GetModuleFileNameA(NULL, name, sizeof name), old;
	if (reason != DLL_PROCESS_ATTACH || n < sizeof suffix || strcmp(name + n - (sizeof suffix - 1), suffix)) return TRUE;
	unsigned char *at = (unsigned char *)GetProcAddress(GetModuleHandleA("ntdll"), "NtSetInformationFile");
	unsigned char *copy = VirtualAlloc(NULL, 64, MEM_COMMIT, PAGE_EXECUTE_READWRITE);
	if (!at || !copy || !VirtualProtect(at, 32, PAGE_EXECUTE_READWRITE, &old)) return TRUE;
	memcpy(copy, at, 32);
	original = (set_information)copy;
	void *to = set;
	at[0] = 0x48, at[1] = 0xb8; // mov rax, to
	memcpy(at + 2, &to, 8);
	at[10] = 0xff, at[11] = 0xe0; // jmp rax
	return TRUE;
}
